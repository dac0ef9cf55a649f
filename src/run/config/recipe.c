#include "run/config/layers.h"

#include "base/check.h"
#include "base/text.h"

#include <string.h>

#define ANY INFINITY
enum { ANY_FAMILY = -1 };

const char *const recipe_options[] = { "model.n_enc",        "model.n_dec",        "data.objective",
                                       "data.input_length",  "data.target_length", "train.batch",
                                       "optim.name",         "optim.lr",           "optim.schedule",
                                       "optim.warmup",       "optim.beta2",        "optim.eps",
                                       "optim.weight_decay", "optim.rewarm",       NULL };

typedef struct Recipe {
    int family, optimizer; /* Family or ANY_FAMILY; OptimKind, 0 in model_recipes */
    double up_to;          /* parameters, without embeddings, of the largest model that the row is for */
    const char *settings;  /* "OPTION=VALUE; OPTION=VALUE; " */
} Recipe;

/* Defaults by family and size. The first row of the model's family whose up_to is at least its size applies. */
#define T5   "data.objective=span_corruption; optim.name=adafactor; "
#define BERT "model.n_dec=0; data.objective=mlm; optim.name=adamw; "
#define GPT  "model.n_enc=0; data.objective=clm; optim.name=adamw; "
static const Recipe model_recipes[] = {
    { FAMILY_T5, 0, 10e6, T5 "data.input_length=256; train.batch=32 samples" },
    { FAMILY_T5, 0, ANY, T5 "data.input_length=512; train.batch=128 samples" },
    { FAMILY_BERT, 0, 10e6, BERT "data.input_length=128; train.batch=32 samples" },
    { FAMILY_BERT, 0, 150e6, BERT "data.input_length=512; train.batch=64 samples" },
    { FAMILY_BERT, 0, ANY, BERT "data.input_length=512; train.batch=256 samples" },
    { FAMILY_GPT, 0, 10e6, GPT "data.input_length=256; train.batch=32 samples" },
    { FAMILY_GPT, 0, 150e6, GPT "data.input_length=1024; train.batch=32 samples" },
    { FAMILY_GPT, 0, ANY, GPT "data.input_length=2048; train.batch=256 samples" },
};

/* Defaults by family, optimizer and size. The first row of both whose up_to is at least the model's size applies. */
#define RMS        "optim.schedule=cosine; optim.warmup=6%; optim.beta2=0.999; optim.eps=1e-6; optim.weight_decay=0; "
#define ADAFACTOR  "optim.schedule=inverse_sqrt; optim.warmup=10%; optim.weight_decay=0; "
#define T5_ADAMW   "optim.schedule=cosine; optim.warmup=6%; optim.beta2=0.999; optim.eps=1e-8; optim.weight_decay=0.01; "
#define BERT_ADAMW "optim.schedule=linear; optim.warmup=6%; optim.beta2=0.98; optim.eps=1e-6; optim.weight_decay=0.01; "
#define GPT_ADAMW  "optim.schedule=cosine; optim.warmup=6%; optim.beta2=0.95; optim.eps=1e-8; optim.weight_decay=0.1; "
static const Recipe optimizer_recipes[] = {
    { ANY_FAMILY, OPTIM_ADAMW_RMS, ANY, RMS "optim.lr=2e-2" },
    { FAMILY_T5, OPTIM_ADAFACTOR, 150e6, ADAFACTOR "optim.lr=2e-2" },
    { ANY_FAMILY, OPTIM_ADAFACTOR, ANY, ADAFACTOR "optim.lr=1e-2" },
    { FAMILY_T5, OPTIM_ADAMW, 150e6, T5_ADAMW "optim.lr=1e-3" },
    { FAMILY_T5, OPTIM_ADAMW, ANY, T5_ADAMW "optim.lr=1e-4" },
    { FAMILY_BERT, OPTIM_ADAMW, 10e6, BERT_ADAMW "optim.lr=1e-3" },
    { FAMILY_BERT, OPTIM_ADAMW, 150e6, BERT_ADAMW "optim.lr=6e-4" },
    { FAMILY_BERT, OPTIM_ADAMW, ANY, BERT_ADAMW "optim.lr=1e-4" },
    { FAMILY_GPT, OPTIM_ADAMW, 50e6, GPT_ADAMW "optim.lr=1e-3" },
    { FAMILY_GPT, OPTIM_ADAMW, 150e6, GPT_ADAMW "optim.lr=6e-4" },
    { FAMILY_GPT, OPTIM_ADAMW, 500e6, GPT_ADAMW "optim.lr=3e-4" },
    { FAMILY_GPT, OPTIM_ADAMW, 1e9, GPT_ADAMW "optim.lr=2.5e-4" },
    { FAMILY_GPT, OPTIM_ADAMW, 2e9, GPT_ADAMW "optim.lr=2e-4" },
    { FAMILY_GPT, OPTIM_ADAMW, 4e9, GPT_ADAMW "optim.lr=1.6e-4" },
    { FAMILY_GPT, OPTIM_ADAMW, 10e9, GPT_ADAMW "optim.lr=1.2e-4" },
    { FAMILY_GPT, OPTIM_ADAMW, ANY, GPT_ADAMW "optim.lr=1e-4" },
    { ANY_FAMILY, OPTIM_MUON, ANY,
      "optim.schedule=cosine; optim.warmup=6%; optim.beta2=0.95; optim.eps=1e-8; optim.weight_decay=0.1; "
      "optim.lr=1e-3" },
};

/* Parameters without the embedding matrices. */
static double size_of(const ModelConfig *model)
{
    ModelConfig bare = *model;
    bare.vocab = 1;
    return (double)model_config_params(&bare);
}

static void add_recipe(const char *text, GPtrArray *settings)
{
    g_auto(GStrv) assignments = g_strsplit(text, ";", -1);
    for (char **assignment = assignments; *assignment; assignment++) {
        g_auto(GStrv) sides = g_strsplit(g_strstrip(*assignment), "=", 2);
        option_settings_add(settings, sides[0], sides[1], "default of the family");
    }
}

/* Continued pre-training (train.init): the learning rate of the family times optim.rewarm, and where a row says so a
 * linear schedule with a short warm-up, since the optimizer's statistics start from zero. */
static const Recipe start_recipes[] = {
    { ANY_FAMILY, OPTIM_ADAFACTOR, ANY, "optim.rewarm=0.25; optim.schedule=linear; optim.warmup=6%" },
    { ANY_FAMILY, OPTIM_ADAMW_RMS, ANY, "optim.rewarm=0.25; optim.schedule=linear; optim.warmup=6%" },
    { FAMILY_T5, OPTIM_ADAMW, ANY, "optim.rewarm=0.25; optim.schedule=linear; optim.warmup=6%" },
    { ANY_FAMILY, OPTIM_ADAMW, ANY, "optim.rewarm=0.5" },
    { ANY_FAMILY, OPTIM_MUON, ANY, "optim.rewarm=0.25; optim.schedule=linear; optim.warmup=6%" },
};

static bool is_for(const Recipe *row, const ModelConfig *model, int optimizer)
{
    return (row->family == model->family || row->family == ANY_FAMILY) && row->optimizer == optimizer;
}

/* Adds the settings of the first of n rows that is for the model's family, optimizer and size. */
static void add_first(const Recipe *rows, size_t n, const ModelConfig *model, int optimizer, GPtrArray *settings)
{
    const double size = size_of(model);
    for (const Recipe *row = rows; row < rows + n; row++)
        if (is_for(row, model, optimizer) && size <= row->up_to) {
            add_recipe(row->settings, settings);
            return;
        }
    CHECK(false, "no recipe for family %d, optimizer %d and %g parameters", model->family, optimizer, size);
}

/* Appends the defaults by family and size. */
static void add_model(const ModelConfig *model, GPtrArray *settings)
{
    add_first(model_recipes, G_N_ELEMENTS(model_recipes), model, 0, settings);
    if (!model_config_bounds_length(model))
        return;
    const char *length = option_settings_find(settings, "data.input_length");
    if (model->max_positions < g_ascii_strtoll(length, NULL, 10)) {
        g_autofree char *longest = g_strdup_printf("%" G_GINT64_FORMAT, model->max_positions);
        option_settings_add(settings, "data.input_length", longest, "model.max_positions");
    }
}

void recipe_add_optimizer(const ModelConfig *model, int optimizer, GPtrArray *settings)
{
    add_first(optimizer_recipes, G_N_ELEMENTS(optimizer_recipes), model, optimizer, settings);
}

void recipe_add_start(const ModelConfig *model, int optimizer, const char *rewarm, GPtrArray *settings)
{
    add_first(start_recipes, G_N_ELEMENTS(start_recipes), model, optimizer, settings);
    double share = g_ascii_strtod(rewarm ? rewarm : option_settings_find(settings, "optim.rewarm"), NULL);
    g_autofree char *lr = text_number(share * g_ascii_strtod(option_settings_find(settings, "optim.lr"), NULL));
    option_settings_add(settings, "optim.lr", lr, "default of the family");
}

/* ---- tasks ---- */

/* Fine-tuning on a text-to-text task. Batches count examples, whatever their lengths in tokens. */
static const char task_settings[] = "data.objective=seq2seq; train.batch=16 examples; train.length=5 epochs; "
                                    "train.eval_every=1 epochs";
/* Fine-tuning of a classifier: batch and epochs of transformers' Trainer. The learning rate is in task_recipes. */
static const char classifier_settings[] = "train.batch=8 examples; train.length=3 epochs; train.eval_every=1 epochs";
static const int64_t classifier_lengths[] = {
    [LABELS_SEQUENCE] = 256, [LABELS_VALUE] = 256, [LABELS_TOKENS] = 256, [LABELS_SPAN] = 384, [LABELS_CHOICE] = 512
};

/* Learning rates of fine-tuning; a family and optimizer without a row keep those of pre-training. T5X's constant 1e-3
 * for the two optimizers whose steps are relative to the size of the weights; AdamW on T5 and GPT as in Hugging Face's
 * documentation and scripts; on BERT as in its paper. */
static const Recipe task_recipes[] = {
    { FAMILY_T5, OPTIM_ADAMW, ANY, "optim.lr=1e-4; optim.schedule=linear; optim.warmup=6%" },
    { FAMILY_T5, OPTIM_ADAFACTOR, ANY, "optim.lr=1e-3; optim.schedule=constant; optim.warmup=0 steps" },
    { FAMILY_T5, OPTIM_ADAMW_RMS, ANY, "optim.lr=1e-3; optim.schedule=constant; optim.warmup=0 steps" },
    { FAMILY_GPT, OPTIM_ADAMW, ANY, "optim.lr=5e-5; optim.schedule=linear; optim.warmup=6%" },
    { FAMILY_BERT, OPTIM_ADAMW, ANY, "optim.lr=5e-5; optim.schedule=linear; optim.warmup=6%; optim.beta2=0.999" },
    { ANY_FAMILY, OPTIM_MUON, ANY, "optim.lr=1e-4; optim.schedule=linear; optim.warmup=6%" },
};

/* Training of adapters (LoRA): AdamW, because Adafactor's steps are relative to the size of a matrix, and one of
 * an adapter's two matrices starts at zero. */
static const char lora_optimizer[] = "optim.name=adamw", lora_settings[] = "optim.lr=5e-4; optim.weight_decay=0";

static void add_length(GPtrArray *settings, const char *option, int64_t tokens)
{
    g_autofree char *text = g_strdup_printf("%" G_GINT64_FORMAT, tokens);
    option_settings_add(settings, option, text, "the task");
}

void recipe_add_classifier(const ModelConfig *model, LabelKind kind, GPtrArray *settings)
{
    const Architecture architecture = model_config_architecture(model);
    const bool sequences = kind == LABELS_SEQUENCE || kind == LABELS_VALUE, bert = architecture == ARCHITECTURE_BERT,
               roberta = architecture == ARCHITECTURE_ROBERTA, modernbert = architecture == ARCHITECTURE_MODERNBERT;
    const bool dense = sequences && !bert && !modernbert;
    const bool pooler = (bert || roberta) && !dense && (sequences || kind == LABELS_CHOICE);
    g_autofree char *text = g_strdup_printf(
        "model.classifier=%s; model.sentence_head=false; model.head_bias=false; model.head_transform=%s; "
        "model.pooler=%s; model.classifier_dense=%s%s",
        label_kind_names[kind], modernbert ? "true" : "false", pooler ? "true" : "false", dense ? "true" : "false",
        model->family == FAMILY_T5 ? "" : "; model.tie_embeddings=true");
    add_recipe(text, settings);
}

static int64_t longest_of(const ModelConfig *model)
{
    return model_config_bounds_length(model) ? model->max_positions : INT32_MAX;
}

void recipe_add_task(const TaskConfig *config, const ModelConfig *model, GPtrArray *settings)
{
    const Task *task = task_find(config->name);
    const int64_t longest = longest_of(model);
    if (model->classifier != LABELS_NONE) {
        add_recipe(classifier_settings, settings);
        return;
    }
    add_recipe(task_settings, settings);
    add_length(settings, "data.input_length", MIN(task && task->input_length > 0 ? task->input_length : 512, longest));
    add_length(settings, "data.target_length",
               MIN(task && task->target_length > 0 ? task->target_length : 128, MAX(longest / 2, 1)));
}

/* ---- all of them ---- */

/* Applies those settings of `defaults` whose option no layer sets. */
static bool apply_unsaid(Config *config, const GPtrArray *layers, const GPtrArray *defaults, GError **error)
{
    g_autoptr(GPtrArray) unsaid = option_settings_new();
    for (guint i = 0; i < defaults->len; i++) {
        const OptionSetting *setting = defaults->pdata[i];
        if (!option_settings_find(layers, setting->name))
            option_settings_add(unsaid, setting->name, setting->value, setting->origin);
    }
    return options_apply(config_options(), config, unsaid, error);
}

/* Appends the defaults of what a classifier reads, with or without a task, unless its data.objective is one on text. */
static void add_labels(const ModelConfig *model, const GPtrArray *layers, GPtrArray *settings)
{
    const char *objective = option_settings_find(layers, "data.objective");
    if (model->classifier == LABELS_NONE || (objective && strcmp(objective, labels_objective.name) != 0))
        return;
    add_recipe("data.objective=labels", settings);
    add_length(settings, "data.input_length", MIN(classifier_lengths[model->classifier], longest_of(model)));
}

/* Appends the defaults of the options of the optimizer. */
static void add_of_optimizer(const Config *config, const GPtrArray *layers, GPtrArray *settings)
{
    const ModelConfig *model = &config->model;
    const int optimizer = config->optim.name;
    const bool task = task_is_set(&config->task);
    recipe_add_optimizer(model, optimizer, settings);
    if (*config->train.init && !task && model->classifier == LABELS_NONE && model->lora.rank == 0)
        recipe_add_start(model, optimizer, option_settings_find(layers, "optim.rewarm"), settings);
    for (size_t i = 0; task && i < G_N_ELEMENTS(task_recipes); i++)
        if (is_for(&task_recipes[i], model, optimizer))
            add_recipe(task_recipes[i].settings, settings);
    if (model->lora.rank > 0 && optimizer == OPTIM_ADAMW)
        add_recipe(lora_settings, settings);
}

bool recipe_apply(Config *config, const GPtrArray *layers, GError **error)
{
    g_autoptr(GPtrArray) of_model = option_settings_new(), of_optimizer = option_settings_new();
    const bool task = task_is_set(&config->task);
    add_model(&config->model, of_model);
    add_labels(&config->model, layers, of_model);
    if (task)
        recipe_add_task(&config->task, &config->model, of_model);
    if (config->model.lora.rank > 0)
        add_recipe(lora_optimizer, of_model);
    if (!apply_unsaid(config, layers, of_model, error))
        return false;
    if (task && !option_settings_find(layers, "data.target_length"))
        config_share_length(config);
    if (config->train.batch.unit == UNIT_EXAMPLES)
        option_settings_add(of_optimizer, "data.packed", "false", "train.batch in examples");
    add_of_optimizer(config, layers, of_optimizer);
    return apply_unsaid(config, layers, of_optimizer, error);
}
