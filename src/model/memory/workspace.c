#include "model/memory/memory.h"

#include "base/text.h"

void workspace_measure(Workspace *work)
{
    for (int i = 0; i < work->n_slots; i++)
        arena_init(&work->save[i], "save", NULL, 0);
    arena_init(&work->scratch, "scratch", NULL, 0);
    arena_init(&work->recompute, "recompute", NULL, 0);
}

void workspace_init(Workspace *work, const int *slots, int n_stages)
{
    *work = (Workspace){ 0 };
    for (int s = 0; s < n_stages; s++) {
        work->stage = g_renew(int, work->stage, work->n_slots + slots[s]);
        for (int i = 0; i < slots[s]; i++)
            work->stage[work->n_slots++] = s;
    }
    work->save = g_new0(Arena, work->n_slots);
    workspace_measure(work);
}

int workspace_slot(const Workspace *work, int stage)
{
    int slot = 0;
    while (work->stage[slot] != stage)
        slot++;
    return slot;
}

static void release(Workspace *work, Device *dev)
{
    for (int i = 0; i < work->n_slots; i++)
        device_free(dev, work->save[i].base);
    device_free(dev, work->scratch.base);
    device_free(dev, work->recompute.base);
    workspace_measure(work);
}

static bool reserve_arena(Arena *arena, Device *dev, const Arena *measured, GError **error)
{
    void *memory = device_alloc(dev, measured->peak);
    if (memory == NULL) {
        g_autofree char *bytes = text_bytes(measured->peak);
        return fail_machine(
            error, "%s has no memory for %s of activations; smaller batches (train.micro_batch, --batch) need less",
            *dev->gpu.name ? dev->gpu.name : "this machine", bytes);
    }
    arena_init(arena, measured->name, memory, measured->peak);
    return true;
}

static bool grow(Arena *arena, Device *dev, const Arena *measured, GError **error)
{
    if (arena->base && arena->size >= measured->peak)
        return true;
    device_free(dev, arena->base);
    arena_init(arena, arena->name, NULL, 0);
    return reserve_arena(arena, dev, measured, error);
}

bool workspace_grow(Workspace *work, Device *dev, const Workspace *measured, GError **error)
{
    for (int i = 0; i < work->n_slots; i++)
        if (!grow(&work->save[i], dev, &measured->save[work->stage[i]], error))
            return false;
    return grow(&work->scratch, dev, &measured->scratch, error) &&
           grow(&work->recompute, dev, &measured->recompute, error);
}

bool workspace_reserve(Workspace *work, Device *dev, const Workspace *measured, GError **error)
{
    release(work, dev);
    return workspace_grow(work, dev, measured, error);
}

void workspace_clear(Workspace *work, Device *dev)
{
    release(work, dev);
    g_free(work->save);
    g_free(work->stage);
    *work = (Workspace){ 0 };
}

size_t workspace_bytes(const Workspace *work, const Workspace *measured)
{
    size_t bytes = measured->scratch.peak + measured->recompute.peak;
    for (int i = 0; i < work->n_slots; i++)
        bytes += measured->save[work->stage[i]].peak;
    return bytes;
}
