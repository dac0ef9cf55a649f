/* The stages of a pipeline and the order of their passes. */
#include "comm/mesh.h"
#include "model/params/params.h"
#include "model/pipeline/pipeline.h"

#include <string.h>

enum { RANKS = 8, MICROBATCHES = 16, INTERLEAVE = 4, PASSES = 2 * MICROBATCHES * INTERLEAVE };
enum { FORWARD, BACKWARD, DIRECTIONS };

/* A message that a rank sends or receives. */
typedef struct Job {
    bool sends, done;
    int peer;
    int stage, microbatch; /* the pass that the message is for; stage: of the whole model */
    double ready;          /* the time of the pass that made it */
} Job;

/* The jobs of a rank in one group of ranks: it does one after another, as comm/queue.h. */
typedef struct Queue {
    Job jobs[PASSES];
    int n, next;
} Queue;

typedef struct Rank {
    PipelinePass passes[PASSES];
    int done;                                  /* number of passes made */
    bool received;                             /* the next pass has asked for its message */
    Job *message;                              /* which is this one; NULL means that it needs none */
    Job *sent[DIRECTIONS][INTERLEAVE][PASSES]; /* by slot: the messages that its last passes sent */
    bool made[DIRECTIONS][INTERLEAVE][MICROBATCHES];
    int kept[INTERLEAVE];
    Queue queues[DIRECTIONS][MESH_LINKS];
    double time;
} Rank;

/* Ranks that follow their schedules. */
typedef struct Simulation {
    int size, interleave, n;
    Rank ranks[RANKS];
} Simulation;

static Queue *queue_of(Simulation *s, int rank, int direction, int from)
{
    const int edge = direction == FORWARD ? from : (from + s->size - 1) % s->size;
    return &s->ranks[rank].queues[direction][mesh_link(s->size, s->interleave > 1, edge)];
}

static Job *post(Queue *queue, Job job)
{
    g_assert_cmpint(queue->n, <, PASSES);
    queue->jobs[queue->n] = job;
    return &queue->jobs[queue->n++];
}

/* Does the first jobs of two queues if one sends what the other one receives. */
static bool meet(Simulation *s, int rank)
{
    bool moved = false;
    for (int d = 0; d < DIRECTIONS; d++)
        for (int l = 0; l < MESH_LINKS; l++) {
            Queue *own = &s->ranks[rank].queues[d][l];
            Job *job = &own->jobs[own->next];
            if (own->next == own->n || !job->sends)
                continue;
            Queue *other = &s->ranks[job->peer].queues[d][l];
            Job *answer = &other->jobs[other->next];
            if (other->next == other->n || answer->sends || answer->peer != rank)
                continue;
            g_assert_cmpint(answer->stage, ==, job->stage);
            g_assert_cmpint(answer->microbatch, ==, job->microbatch);
            answer->ready = job->ready;
            job->done = answer->done = moved = true;
            own->next++;
            other->next++;
        }
    return moved;
}

/* Whether the messages that a slot sent have been received. */
static bool is_free(const Rank *rank, PipelinePass pass, int slot)
{
    for (int d = 0; d < DIRECTIONS && !pass.backward; d++) {
        const Job *job = rank->sent[d][pass.stage][slot];
        if (job && !job->done)
            return false;
    }
    return true;
}

/* A rank's next pass: false as long as it waits. */
static bool go(Simulation *s, int r)
{
    Rank *rank = &s->ranks[r];
    const PipelinePass pass = rank->passes[rank->done];
    const int direction = pass.backward ? BACKWARD : FORWARD, step = pass.backward ? -1 : 1,
              stage = pass.stage * s->size + r, from = stage - step, to = stage + step,
              last = s->size * s->interleave - 1, slot = pass.microbatch % rank->kept[pass.stage];
    if (!rank->received) {
        if (!is_free(rank, pass, slot))
            return false;
        const int peer = (from + s->size) % s->size;
        const Job job = { .peer = peer, .stage = stage, .microbatch = pass.microbatch };
        rank->message = from >= 0 && from <= last ? post(queue_of(s, r, direction, peer), job) : NULL;
        rank->received = true;
    }
    if (rank->message && !rank->message->done)
        return false;
    g_assert_false(rank->made[direction][pass.stage][pass.microbatch]);
    g_assert_true(!pass.backward || rank->made[FORWARD][pass.stage][pass.microbatch]);
    rank->made[direction][pass.stage][pass.microbatch] = true;
    rank->time = MAX(rank->time, rank->message ? rank->message->ready : 0) + (pass.backward ? 2 : 1);
    const Job job = {
        .sends = true, .peer = (to + s->size) % s->size, .stage = to, .microbatch = pass.microbatch, .ready = rank->time
    };
    rank->sent[direction][pass.stage][slot] = to >= 0 && to <= last ? post(queue_of(s, r, direction, r), job) : NULL;
    rank->done++;
    rank->received = false;
    return true;
}

/* Runs all passes of all ranks; returns the time until the last one ends, in forward passes of a stage. */
static double simulate(Simulation *s)
{
    double end = 0;
    for (int r = 0; r < s->size; r++) {
        pipeline_schedule(s->ranks[r].passes, r, s->size, s->interleave, s->n);
        pipeline_kept(s->ranks[r].kept, r, s->size, s->interleave, s->n);
    }
    for (bool moved = true; moved;) {
        moved = false;
        for (int r = 0; r < s->size; r++) {
            moved = meet(s, r) || moved;
            while (s->ranks[r].done < 2 * s->n * s->interleave && go(s, r))
                moved = true;
        }
    }
    for (int r = 0; r < s->size; r++) {
        if (s->ranks[r].done < 2 * s->n * s->interleave)
            g_error("%d ranks of %d stages, %d microbatches: rank %d stops after %d passes", s->size, s->interleave,
                    s->n, r, s->ranks[r].done);
        end = MAX(end, s->ranks[r].time);
    }
    return end;
}

/* Without the time that a send takes, a step takes as long as pipeline_bubble says. */
static void schedules_end__as_early_as_the_formula_says(void)
{
    for (int size = 1; size <= RANKS; size++)
        for (int interleave = 1; interleave <= (size > 1 ? INTERLEAVE : 1); interleave++)
            for (int n = 1; n <= MICROBATCHES; n++) {
                Simulation *s = g_new0(Simulation, 1);
                *s = (Simulation){ .size = size, .interleave = interleave, .n = n };
                const double end = simulate(s), works = 3.0 * n * interleave;
                g_assert_cmpfloat_with_epsilon(1 - works / end, pipeline_bubble(size, interleave, n), 1e-12);
                g_free(s);
            }
}

/* 1F1B keeps at most p - r; the interleaved schedule one more than the passes that it runs ahead. */
static void few_activations_are_kept(void)
{
    for (int size = 1; size <= RANKS; size++)
        for (int n = 1; n <= MICROBATCHES; n++)
            for (int rank = 0; rank < size; rank++) {
                int kept[INTERLEAVE];
                pipeline_kept(kept, rank, size, 1, n);
                g_assert_cmpint(kept[0], ==, MIN(size - rank, n));
                for (int interleave = 2; interleave <= INTERLEAVE; interleave++) {
                    PipelinePass passes[PASSES];
                    int now = 0, most = 0, slots = 0, ahead = 2 * (size - rank - 1) + (interleave - 1) * size + 1;
                    pipeline_schedule(passes, rank, size, interleave, n);
                    pipeline_kept(kept, rank, size, interleave, n);
                    for (int i = 0; i < 2 * n * interleave; i++) {
                        now += passes[i].backward ? -1 : 1;
                        most = MAX(most, now);
                    }
                    for (int i = 0; i < interleave; i++)
                        slots += kept[i];
                    g_assert_cmpint(most, <=, slots);
                    if (n % size == 0) {
                        g_assert_cmpint(most, ==, MIN(ahead, n * interleave));
                        g_assert_cmpint(kept[0], <=, 2 * size);
                    }
                }
            }
}

/* Gradients add up in the order of microbatches, as without a pipeline. */
static void backward_passes_come_in_the_order_of_microbatches(void)
{
    PipelinePass passes[PASSES];
    for (int rank = 0; rank < RANKS; rank++)
        for (int interleave = 1; interleave <= INTERLEAVE; interleave++) {
            int next[2][INTERLEAVE] = { 0 };
            pipeline_schedule(passes, rank, RANKS, interleave, MICROBATCHES);
            for (int i = 0; i < 2 * MICROBATCHES * interleave; i++)
                g_assert_cmpint(passes[i].microbatch, ==, next[passes[i].backward][passes[i].stage]++);
        }
}

/* Two ranks with two stages each and four microbatches, as Megatron-LM orders them: F is forward, B backward, the
 * letter a rank's stage, the digit a microbatch. */
static void interleaved_schedules_are_those_of_megatron(void)
{
    static const char *const expected[] = { "Fa0 Fa1 Fb0 Fb1 Fa2 Bb0 Fa3 Bb1 Fb2 Ba0 Fb3 Ba1 Bb2 Bb3 Ba2 Ba3 ",
                                            "Fa0 Fa1 Fb0 Bb0 Fb1 Bb1 Fa2 Ba0 Fa3 Ba1 Fb2 Bb2 Fb3 Bb3 Ba2 Ba3 " };
    for (int rank = 0; rank < 2; rank++) {
        PipelinePass passes[16];
        g_autoptr(GString) text = g_string_new(NULL);
        pipeline_schedule(passes, rank, 2, 2, 4);
        for (int i = 0; i < 16; i++)
            g_string_append_printf(text, "%c%c%d ", passes[i].backward ? 'B' : 'F', 'a' + passes[i].stage,
                                   passes[i].microbatch);
        g_assert_cmpstr(text->str, ==, expected[rank]);
    }
}

static ModelConfig config_of(const char *preset, int n_enc, int n_dec)
{
    GError *error = NULL;
    ModelConfig config = { 0 };
    g_autoptr(GPtrArray) settings = option_settings_new();
    options_set_defaults(&model_table, &config);
    g_assert_true(model_preset_settings(preset, settings, &error));
    g_assert_true(options_apply(&model_table, &config, settings, &error));
    config.n_enc = n_enc;
    config.n_dec = n_dec;
    return config;
}

static const StageTokens short_targets = { .encoder = 512, .decoder = 114, .targets = 114 },
                         decoder = { .decoder = 1024, .targets = 1024 };

static void stages_follow_each_other__and_have_every_block(void)
{
    for (int size = 1; size <= 6; size++) {
        ModelConfig config = config_of("t5-1.1-small", 3, 4);
        g_autofree int *ends = pipeline_divide(&config, size, 1, &short_targets);
        const Pipeline pipeline = { .size = size, .ends = ends };
        int next = 0;
        for (int rank = 0; rank < size; rank++) {
            Stage stage = pipeline_stage(&pipeline, rank);
            g_assert_cmpint(stage.first, ==, next);
            g_assert_cmpint(stage.end, >, stage.first);
            next = stage.end;
        }
        g_assert_cmpint(next, ==, 7);
        model_config_clear(&config);
    }
}

/* GPT-2's head is worth 4.9 blocks; a decoder that reads an encoder counts its keys and values at the encoder's length.
 */
static void stages_have_equal_work(void)
{
    ModelConfig gpt = config_of("gpt2", 0, 12), t5 = config_of("t5-1.1-base", 12, 12);
    g_autofree int *two = pipeline_divide(&gpt, 2, 1, &decoder), *four = pipeline_divide(&t5, 4, 1, &short_targets);
    g_assert_cmpint(two[0], ==, 8);
    g_assert_cmpint(four[0], ==, 4);
    model_config_clear(&gpt);
    model_config_clear(&t5);
}

/* With several stages per rank the ranks have equal work: GPT-2's last rank has 4 blocks and the head. */
static void ranks_have_equal_work(void)
{
    ModelConfig gpt = config_of("gpt2", 0, 12), even = config_of("gpt2", 0, 16);
    even.classifier = LABELS_SEQUENCE; /* no projection to the vocabulary */
    g_autofree int *two = pipeline_divide(&gpt, 2, 2, &decoder), *four = pipeline_divide(&even, 4, 4, &decoder);
    g_assert_cmpint(two[0] + two[2] - two[1], ==, 8);
    g_assert_cmpint(two[3], ==, 12);
    for (int s = 0; s < 16; s++)
        g_assert_cmpint(four[s], ==, s + 1);
    model_config_clear(&gpt);
    model_config_clear(&even);
}

static const struct {
    const char *cuts, *why;
} wrong_cuts[] = {
    { "5,9", "there are 2" },
    { "5,9,13,17", "there are 4" },
    { "9,5,13", "5 comes after 9" },
    { "5,5,13", "5 comes after 5" },
    { "1,5,9", "1 is not among them" },
    { "5,9,25", "25 is not among them" },
    { "5,nine,13", "\"nine\" is no number" },
    { "5,,13", "\"\" is no number" },
};

static void cuts_are_read__or_refused_with_what_would_be_right(void)
{
    ModelConfig t5 = config_of("t5-1.1-base", 12, 12);
    GError *error = NULL;
    g_autofree int *equal = pipeline_divide(&t5, 4, 1, &short_targets),
                   *ends = pipeline_cuts(&t5, "5, 9,13", 4, equal, &error);
    g_assert_no_error(error);
    g_autofree char *again = pipeline_cuts_text(ends, 4);
    g_assert_cmpstr(again, ==, "5,9,13");
    g_assert_cmpint(ends[3], ==, 24);
    for (size_t i = 0; i < G_N_ELEMENTS(wrong_cuts); i++) {
        g_assert_null(pipeline_cuts(&t5, wrong_cuts[i].cuts, 4, equal, &error));
        g_autofree char *message = g_strdup_printf(
            "parallel.cuts is \"%s\", and for 4 stages it names the first blocks of the second and each later one, 3 "
            "numbers from 2 to 24 (the decoder begins at block 13), in rising order: %s; equal work would be 5,9,15",
            wrong_cuts[i].cuts, wrong_cuts[i].why);
        g_assert_cmpstr(error->message, ==, message);
        g_clear_error(&error);
    }
    model_config_clear(&t5);
}

/* A tied embedding is the first stage's; the last one has a copy. */
static void tied_parameters_are_marked(void)
{
    ModelConfig config = config_of("gpt2", 0, 4);
    for (int rank = 0; rank < 2; rank++) {
        const int ends[] = { 1, 2, 3, 4 };
        const Pipeline pipeline = { .rank = rank, .size = 2, .interleave = 2, .ends = ends };
        int n, tied = 0;
        g_autofree ParamSpec *specs = model_param_specs(&config, pipeline_held(&pipeline, rank), &n);
        pipeline_mark_tied(specs, n, &config, &pipeline);
        for (int i = 0; i < n; i++) {
            tied += specs[i].tie != TIE_NONE;
            if (strcmp(specs[i].name, "shared") == 0)
                g_assert_cmpint(specs[i].tie, ==, rank == 0 ? TIE_FIRST : TIE_COPY);
        }
        g_assert_cmpint(tied, ==, 1);
    }
    model_config_clear(&config);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/pipeline/schedules_end", schedules_end__as_early_as_the_formula_says);
    g_test_add_func("/pipeline/kept", few_activations_are_kept);
    g_test_add_func("/pipeline/megatron", interleaved_schedules_are_those_of_megatron);
    g_test_add_func("/pipeline/order_of_backward", backward_passes_come_in_the_order_of_microbatches);
    g_test_add_func("/pipeline/stages_follow_each_other", stages_follow_each_other__and_have_every_block);
    g_test_add_func("/pipeline/equal_work", stages_have_equal_work);
    g_test_add_func("/pipeline/equal_ranks", ranks_have_equal_work);
    g_test_add_func("/pipeline/cuts", cuts_are_read__or_refused_with_what_would_be_right);
    g_test_add_func("/pipeline/tied", tied_parameters_are_marked);
    return g_test_run();
}
