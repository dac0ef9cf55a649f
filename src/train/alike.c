/* alike.c: checks at the start of a run that all ranks train the same model: the same version of loam, options,
 * tokenizer, data, weights to start from and instruction set, and one run directory. Otherwise ranks would train apart
 * without an error: a host may have an older copy of a dataset or the program, or a run directory on its own disk. */
#include "base/file.h"
#include "base/machine.h"
#include "base/text.h"
#include "comm/monitor.h"
#include "model/hf/hf.h"
#include "run/heartbeat.h"
#include "run/model_path.h"
#include "train/trainer.h"

#include <dnnl.h>
#include <gnu/libc-version.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

/* ---- computes a value once for all ranks that would compute the same one, such as the hash of a file of their host
 * ---- */

#define LOOK_S 0.25 /* seconds between two signs that a rank gives while it computes */

typedef struct Key {
    char text[ONCE_KEY];
} Key;

/* A call of a function in a thread of its own. */
typedef struct Call {
    OnceFn fn;
    const void *context;
    uint64_t value;
    Monitor monitor; /* protects `done` */
    bool done;
} Call;

static void *make_call(void *argument)
{
    Call *call = argument;
    call->value = call->fn(call->context);
    G_GNUC_UNUSED g_autoptr(Monitor) held = monitor_enter(&call->monitor);
    call->done = true;
    monitor_wake(&call->monitor);
    return NULL;
}

/* Waits for at most LOOK_S seconds; returns whether the call has ended. */
static bool call_ended(Call *call)
{
    const double end = clock_seconds() + LOOK_S;
    G_GNUC_UNUSED g_autoptr(Monitor) held = monitor_enter(&call->monitor);
    while (!call->done && monitor_wait_until(&call->monitor, end))
        ;
    return call->done;
}

/* Returns fn(context), or 0 on a rank that does not call it. Every rank hears again and again of those that do, since
 * the call may take longer than the group's timeout. */
static uint64_t call_beside(Comm *ranks, bool calls, OnceFn fn, const void *context)
{
    Call call = { .fn = fn, .context = context, .done = !calls };
    monitor_init(&call.monitor);
    GThread *thread = calls ? g_thread_new("once", make_call, &call) : NULL;
    while (comm_max(ranks, !call_ended(&call)) > 0 && comm_check(ranks, NULL))
        ;
    if (thread)
        g_thread_join(thread);
    monitor_clear(&call.monitor);
    return call.value;
}

uint64_t ranks_once(Comm *ranks, const char *key, OnceFn fn, const void *context)
{
    const int size = comm_size(ranks), rank = comm_rank(ranks);
    g_autofree Key *keys = g_new0(Key, size);
    g_autofree uint64_t *values = g_new0(uint64_t, size);
    Key own = { 0 };
    int first = 0;
    g_strlcpy(own.text, key, ONCE_KEY);
    comm_share(ranks, keys, &own, sizeof own);
    while (first < rank && (*key == '\0' || memcmp(keys[first].text, own.text, ONCE_KEY) != 0))
        first++;
    const uint64_t value = call_beside(ranks, first == rank, fn, context);
    comm_share(ranks, values, &value, sizeof value);
    return values[first];
}

void once_key_of_path(char key[ONCE_KEY], const char *path)
{
    struct stat status;
    char boot[MACHINE_BOOT_ID];
    machine_boot_id(boot);
    *key = '\0';
    if (*boot && stat(path, &status) == 0)
        g_snprintf(key, ONCE_KEY, "%s %" PRIu64 " %" PRIu64, boot, (uint64_t)status.st_dev, (uint64_t)status.st_ino);
}

/* ---- what ranks compare ---- */

enum { TEXT = 64, VALUE = 256 };
#define SEEN_WITHIN_S                                                                                                  \
    30.0 /* so late may a network file system show a new file to other hosts; at most half of                          \
            parallel.timeout, because rank 0 waits for the answer */

/* What ranks must have in common, apart from their options. */
enum { TRAIT_VERSION, TRAIT_BUILD, TRAIT_ISA, TRAIT_TOKENIZER, TRAIT_TRAIN, TRAIT_VALID, TRAIT_INIT, TRAITS };
static const struct {
    const char *what, *remedy;
} traits[TRAITS] = {
    [TRAIT_VERSION] = { "version of loam", "install one version on all hosts" },
    [TRAIT_BUILD] = { "build of loam, oneDNN or the C library", "install the same on all hosts" },
    [TRAIT_ISA] = { "instruction set", "set LOAM_CPU_ISA for all ranks to one that every processor has, such as avx2" },
    [TRAIT_TOKENIZER] = { "tokenizer in tokenizer.path", "copy one to all hosts" },
    [TRAIT_TRAIN] = { "dataset in data.train", "copy one to all hosts" },
    [TRAIT_VALID] = { "dataset in data.valid", "copy one to all hosts" },
    [TRAIT_INIT] = { "model in train.init", "copy one to all hosts" },
};

/* Who a rank is. */
typedef struct Who {
    char host[TEXT];
    int64_t pid;
    char traits[TRAITS][TEXT];
} Who;

/* Options that may differ between ranks: what hosts may name differently, if it is the same thing. */
static const char *const own_options[] = {
    "run.dir", "tokenizer.path", "data.train", "data.valid", "train.device", "train.threads", NULL,
};

static uint64_t hash_loader(const Loader *loader)
{
    uint64_t hash = (uint64_t)loader_fingerprint(loader);
    for (int i = 0; i < loader_datasets(loader); i++) {
        const LoaderDataset part = loader_dataset(loader, i);
        hash = XXH3_64bits_withSeed(&part.share, sizeof part.share, hash);
    }
    return hash;
}

enum {
    AT_ONCE = 1 << 20
}; /* bytes that are read at once, since pages of a mapped file would count as memory of a rank */

static bool is_of_model(const char *name)
{
    return g_str_has_suffix(name, ".safetensors") || g_str_has_suffix(name, ".bin") ||
           strcmp(name, "config.json") == 0 || strcmp(name, "adapter_config.json") == 0;
}

static GPtrArray *list_files(const char *folder)
{
    GPtrArray *names = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
    for (const char *name; dir && (name = g_dir_read_name(dir));)
        if (is_of_model(name))
            g_ptr_array_add(names, g_strdup(name));
    g_ptr_array_sort(names, text_compare);
    return names;
}

/* The hash of a file that comes after files with the hash `before`. */
static uint64_t hash_file(const char *folder, const char *name, uint64_t before)
{
    g_autofree char *path = g_build_filename(folder, name, NULL), *part = g_malloc(AT_ONCE);
    size_t bytes = 0;
    const int fd = io_open_regular(path, &bytes, NULL);
    const uint64_t of_name = XXH3_64bits_withSeed(name, strlen(name), before);
    const uint64_t of_size = XXH3_64bits_withSeed(&bytes, sizeof bytes, of_name);
    XXH3_state_t *hash = XXH3_createState();
    XXH3_64bits_reset_withSeed(hash, of_size);
    for (ssize_t n; fd >= 0 && (n = read(fd, part, AT_ONCE)) > 0;)
        XXH3_64bits_update(hash, part, (size_t)n);
    const uint64_t value = bytes > 0 ? XXH3_64bits_digest(hash) : of_size;
    XXH3_freeState(hash);
    if (fd >= 0)
        close(fd);
    return value;
}

static bool verify_folder(const char *folder, G_GNUC_UNUSED void *context, GError **error)
{
    return checkpoint_verify(folder, error);
}

/* A hash of the model that PATH names (model_path.h), which takes as long as reading it: of a folder of Hugging Face
 * the names and all bytes of its files of weights and of its configuration, without the tokenizer; of a checkpoint, the
 * newest one that is whole, its state.json, which has the checksums of its files. 0 means that there is no model. */
static uint64_t hash_init(const void *path)
{
    const bool hf = hf_is_folder(path);
    g_autofree char *folder = hf ? NULL : checkpoint_open(path, verify_folder, NULL, NULL);
    g_autoptr(GPtrArray) names = hf ? list_files(path) : g_ptr_array_new();
    uint64_t hash = folder ? hash_file(folder, "state.json", 0) : 0;
    for (guint i = 0; i < names->len; i++)
        hash = hash_file(path, names->pdata[i], hash);
    return hash;
}

uint64_t trainer_hash_init(Trainer *t)
{
    const char *init = t->config.train.init;
    char key[ONCE_KEY];
    if (t->start.init == 0 && *init) {
        once_key_of_path(key, init);
        t->start.init = ranks_once(t->mesh.world, key, hash_init, init);
    }
    return t->start.init;
}

/* The trait of train.init, if it is compared: the ranks are processes, and the run starts from it, since rank 0, which
 * may be the only rank that knows, sees no checkpoint. */
static void tell_init(Trainer *t, char trait[TEXT])
{
    g_autoptr(GArray) steps = run_checkpoints(t->config.run.dir);
    if (ranks_agree(t, *t->config.train.init && steps->len == 0) && !comm_of_threads(t->mesh.world))
        g_snprintf(trait, TEXT, "%016" G_GINT64_MODIFIER "x", trainer_hash_init(t));
}

static uint64_t hash_program(G_GNUC_UNUSED const void *unused)
{
    g_autoptr(GMappedFile) program = g_mapped_file_new("/proc/self/exe", FALSE, NULL);
    return program ? XXH3_64bits(g_mapped_file_get_contents(program), g_mapped_file_get_length(program)) : 0;
}

/* The trait of the program and of the libraries that compute: runs are equal to the last bit only if these are. One
 * rank of a host reads the program. */
static void tell_build(Trainer *t, char trait[TEXT])
{
    char key[ONCE_KEY];
    const dnnl_version_t *dnnl = dnnl_version();
    if (comm_of_threads(t->mesh.world))
        return;
    once_key_of_path(key, "/proc/self/exe");
    g_snprintf(trait, TEXT, "%016" G_GINT64_MODIFIER "x, oneDNN %d.%d.%d %.7s, glibc %s",
               ranks_once(t->mesh.world, key, hash_program, NULL), dnnl->major, dnnl->minor, dnnl->patch, dnnl->hash,
               gnu_get_libc_version());
}

static Who who_am_i(Trainer *t)
{
    Who who = { .pid = getpid() };
    uint64_t valid = 0;
    for (guint i = 0; i < t->valid->len; i++) {
        const HeldoutSet *set = t->valid->pdata[i];
        valid = XXH3_64bits_withSeed(&(int64_t){ loader_fingerprint(set->loader) }, sizeof(int64_t), valid + 1);
    }
    g_strlcpy(who.host, g_get_host_name(), TEXT);
    g_strlcpy(who.traits[TRAIT_VERSION], LOAM_VERSION, TEXT);
    tell_build(t, who.traits[TRAIT_BUILD]);
    g_strlcpy(who.traits[TRAIT_ISA], t->dev->isa, TEXT);
    g_strlcpy(who.traits[TRAIT_TOKENIZER], tokenizer_hash(t->tok), TEXT);
    g_snprintf(who.traits[TRAIT_TRAIN], TEXT, "%016" G_GINT64_MODIFIER "x", hash_loader(t->train));
    g_snprintf(who.traits[TRAIT_VALID], TEXT, "%016" G_GINT64_MODIFIER "x", valid);
    tell_init(t, who.traits[TRAIT_INIT]);
    return who;
}

/* A trait that rank 0 leaves empty is not compared. */
static bool compare_traits(const Who *all, int ranks, GError **error)
{
    for (int trait = 0; trait < TRAITS; trait++)
        for (int r = 1; r < ranks; r++)
            if (*all[0].traits[trait] && strncmp(all[r].traits[trait], all[0].traits[trait], TEXT) != 0)
                return fail_user(error, "rank %d on %s has another %s than rank 0 on %s (%s, not %s): %s", r,
                                 all[r].host, traits[trait].what, all[0].host, all[r].traits[trait],
                                 all[0].traits[trait], traits[trait].remedy);
    return true;
}

/* The hash of each option's value, in the order of the table: array of uint64_t. */
static GArray *hash_options(const Config *config)
{
    const OptionTable *table = config_options();
    GArray *hashes = g_array_new(FALSE, FALSE, sizeof(uint64_t));
    const OptionRow *row;
    for (int i = 0; (row = options_at(table, i)); i++) {
        g_autofree char *value = options_plain_value(table, config, row);
        uint64_t hash = g_strv_contains(own_options, row->name) ? 0 : XXH3_64bits(value, strlen(value));
        g_array_append_val(hashes, hash);
    }
    return hashes;
}

/* The error of an option that rank r has with another value than rank 0. All ranks call it. */
static bool refuse_option(Trainer *t, const Who *all, int r, const OptionRow *row, GError **error)
{
    g_autofree char *value = options_plain_value(config_options(), &t->config, row);
    char own[VALUE] = "";
    g_autofree char(*values)[VALUE] = g_malloc0((gsize)VALUE * (gsize)comm_size(t->mesh.world));
    g_strlcpy(own, value, VALUE);
    comm_share(t->mesh.world, values, own, VALUE);
    return comm_check(t->mesh.world, error) &&
           fail_user(error, "rank %d on %s has %s=%s, rank 0 on %s has %s=%s: start all ranks with the same options", r,
                     all[r].host, row->name, values[r], all[0].host, row->name, values[0]);
}

static bool compare_options(Trainer *t, const Who *all, GError **error)
{
    g_autoptr(GArray) own = hash_options(&t->config);
    const guint n = own->len;
    g_autofree uint64_t *hashes = g_new0(uint64_t, (gsize)n * (gsize)comm_size(t->mesh.world));
    comm_share(t->mesh.world, hashes, own->data, n * sizeof *hashes);
    if (!comm_check(t->mesh.world, error))
        return false;
    for (int r = 1; r < comm_size(t->mesh.world); r++)
        for (guint i = 0; i < n; i++)
            if (hashes[(guint)r * n + i] != hashes[i])
                return refuse_option(t, all, r, options_at(config_options(), (int)i), error);
    return true;
}

/* Whether the heartbeat of rank 0 in this rank's run directory is that of the present rank 0. */
static bool sees_rank_0(const Trainer *t, const Who *first)
{
    const double limit = t->config.parallel.timeout.value;
    const double end = clock_seconds() + (limit > 0 ? MIN(SEEN_WITHIN_S, limit / 2) : SEEN_WITHIN_S);
    Heartbeat beat;
    do {
        if (heartbeat_read(t->config.run.dir, 0, &beat) && beat.pid == first->pid)
            return true;
        g_usleep(20000);
    } while (clock_seconds() < end);
    return false;
}

/* Fails unless all ranks see the files that rank 0 writes. */
static bool compare_directories(Trainer *t, const Who *all, GError **error)
{
    int64_t sees = sees_rank_0(t, all);
    g_autofree int64_t *seen = g_new0(int64_t, comm_size(t->mesh.world));
    comm_share(t->mesh.world, seen, &sees, sizeof sees);
    if (!comm_check(t->mesh.world, error))
        return false;
    for (int r = 1; r < comm_size(t->mesh.world); r++)
        if (!seen[r])
            return fail_machine(error,
                                "rank %d on %s does not see the files of rank 0 on %s in run.dir %s: all ranks write "
                                "their parts of a checkpoint there; choose a folder that all hosts share",
                                r, all[r].host, all[0].host, t->config.run.dir);
    return true;
}

bool ranks_alike(Trainer *t, GError **error)
{
    const int ranks = comm_size(t->mesh.world);
    if (ranks == 1)
        return true;
    const Who own = who_am_i(t);
    g_autofree Who *all = g_new0(Who, ranks);
    comm_share(t->mesh.world, all, &own, sizeof own);
    const bool alike = comm_check(t->mesh.world, error) && compare_traits(all, ranks, error) &&
                       compare_options(t, all, error) && compare_directories(t, all, error);
    /* All ranks find the same error, with their own names of folders: all of them tell that of rank 0, and none ends
     * the run before rank 0 has found it. */
    const bool agreed = comm_agree(t->mesh.world, alike, error);
    t->together = !agreed && mesh_check(&t->mesh, NULL);
    return agreed;
}
