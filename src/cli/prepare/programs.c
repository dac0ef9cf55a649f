#include "cli/prepare/programs.h"

#include "base/log.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define DEFAULTS                                                                                                       \
    .segment = 1023, .max_bytes = 1000000, .max_depth = 500, .max_seconds = 60, .max_errors = 0.1, .temperature = 1,   \
    .text_share = NAN
static const ProgramFlags defaults = { DEFAULTS };
ProgramFlags program_flags = { DEFAULTS };

/* Whether the datasets are written in the format of AST-T5. */
static bool is_ast_t5(const ProgramFlags *flags)
{
    return g_strcmp0(flags->format, "fairseq") == 0 || g_strcmp0(flags->format, "ffrecord") == 0;
}

const char *program_option_given(void)
{
    const ProgramFlags *flags = &program_flags;
    const struct {
        const char *name;
        bool given;
    } options[] = {
        { "--ast", flags->ast },
        { "--segment-rule", flags->rule != NULL },
        { "--language-field", flags->language_field != NULL },
        { "--by-language", flags->by_language },
        { "--language-temperature", flags->temperature != defaults.temperature },
        { "--text-share", !isnan(flags->text_share) },
        { "--ast-format", flags->format != NULL },
        { "--grammars", flags->grammars != NULL },
        { "--segment", flags->segment != defaults.segment },
        { "--ast-max-bytes", flags->max_bytes != defaults.max_bytes },
        { "--ast-max-depth", flags->max_depth != defaults.max_depth },
        { "--ast-max-seconds", flags->max_seconds != defaults.max_seconds },
        { "--ast-max-errors", flags->max_errors != defaults.max_errors },
    };
    for (size_t i = 0; i < G_N_ELEMENTS(options); i++)
        if (options[i].given)
            return options[i].name;
    return NULL;
}

static bool check_shares(const ProgramFlags *flags, GError **error)
{
    const bool has_share = !isnan(flags->text_share), has_temperature = flags->temperature != defaults.temperature;
    if (!(flags->temperature > 0 && flags->temperature <= 1e6))
        return fail_user(error, "--language-temperature %g: a number above 0, up to 1e6", flags->temperature);
    if (has_share && !(flags->text_share > 0 && flags->text_share < 1))
        return fail_user(error,
                         "--text-share %g: a share above 0 and below 1; a mixture without text is PREFIX_weights.json "
                         "without the line \"text\"",
                         flags->text_share);
    return (!has_share && !has_temperature) || flags->by_language || is_ast_t5(flags) ||
           fail_user(error, "--language-temperature and --text-share are for --by-language");
}

static bool check_others(const PrepareOptions *options, GError **error)
{
    const char *other = options->split_sentences       ? "--split-sentences"
                        : options->corpus.fields_apart ? "--fields"
                        : options->append_eod          ? "--append-eod"
                                                       : NULL;
    if (options->fairseq)
        return fail_user(error, "--ast and --format fairseq exclude each other; --ast-format fairseq writes the layout "
                                "of AST-T5");
    return !other || fail_user(error, "--ast and %s exclude each other: every segment is a document of its own", other);
}

static bool check_flags(const PrepareOptions *options, GError **error)
{
    const ProgramFlags *flags = &program_flags;
    if (flags->rule && strcmp(flags->rule, "least") != 0 && strcmp(flags->rule, "greedy") != 0)
        return fail_user(error, "--segment-rule %s: least or greedy is wanted", flags->rule);
    if (flags->segment < 1 || flags->segment > 1000000)
        return fail_user(error, "--segment %" PRId64 ": from 1 to 1000000 tokens", flags->segment);
    if (flags->max_bytes < 0 || flags->max_depth < 1 || flags->max_depth > 100000)
        return fail_user(error, "--ast-max-bytes wants 0 or more, --ast-max-depth 1 to 100000");
    if (!(flags->max_seconds >= 0 && flags->max_seconds <= 1e6) || !(flags->max_errors >= 0 && flags->max_errors <= 1))
        return fail_user(error, "--ast-max-seconds wants 0 to 1e6, --ast-max-errors a share from 0 to 1");
    if (flags->format && strcmp(flags->format, "loam") != 0 && !is_ast_t5(flags))
        return fail_user(error, "--ast-format %s: loam, fairseq or ffrecord is wanted", flags->format);
    return check_shares(flags, error) && check_others(options, error);
}

bool program_options(ProgramOptions *programs, PrepareOptions *options, const Tokenizer *tok, GError **error)
{
    const ProgramFlags *flags = &program_flags;
    if (!flags->ast)
        return !program_option_given() || fail_user(error, "%s is for --ast", program_option_given());
    if (!check_flags(options, error) || !(programs->grammars = grammars_open(flags->grammars, error)))
        return false;
    if (programs->grammars->len == 0)
        return fail_user(error, "--ast: no grammar is installed; tools/install-grammars makes them, loam grammars "
                                "install --from build/grammars takes them");
    programs->limits = (SyntaxLimits){ flags->max_bytes, flags->max_depth, flags->max_seconds, flags->max_errors };
    programs->segment_tokens = flags->segment;
    programs->rule = g_strcmp0(flags->rule, "greedy") == 0 ? SEGMENT_GREEDY : SEGMENT_LEAST;
    options->corpus.language_field = flags->language_field;
    options->programs = programs;
    options->ndtypes = options->fairseq = options->append_eod = is_ast_t5(flags);
    options->ffrecord = g_strcmp0(flags->format, "ffrecord") == 0;
    options->by_language = flags->by_language || options->ndtypes;
    options->temperature = flags->temperature;
    options->text_share = isnan(flags->text_share) ? 0 : flags->text_share;
    programs->end = options->append_eod ? tokenizer_eos(tok) : -1;
    return !options->append_eod || programs->end >= 0 ||
           fail_user(error,
                     "--ast-format %s: the tokenizer has no end-of-sequence token, which AST-T5 puts after every "
                     "segment",
                     flags->format);
}

static const char *language_name(const ProgramOptions *options, int i)
{
    return i == 0 ? "text" : ((const Grammar *)options->grammars->pdata[i - 1])->name;
}

static void print_outcomes(const ProgramCounts *counts, const char *name)
{
    for (int i = SYNTAX_TREE + 1; i < SYNTAX_OUTCOMES; i++)
        if (counts->outcomes[i] > 0)
            printf("%s: %" PRId64 " of %" PRId64 " programs are text: %s\n", name, counts->outcomes[i],
                   counts->documents, syntax_outcome_names[i]);
    if (counts->outcomes[SYNTAX_TOO_SLOW] > 0)
        log_warning("--ast-max-seconds depends on the machine: another one may make other trees of this corpus");
}

void print_programs(const ProgramCounts *counts, const ProgramOptions *options)
{
    printf("%-12s %10s %12s %10s %12s %13s %13s %7s\n", "language", "programs", "tokens", "segments", "nodes",
           "broken least", "broken greedy", "saved");
    for (int i = 0; i <= (int)options->grammars->len; i++) {
        const ProgramCounts *of = &counts[i];
        if (of->documents > 0)
            printf("%-12s %10" PRId64 " %12" PRId64 " %10" PRId64 " %12" PRId64 " %13" PRId64 " %13" PRId64
                   " %5.0f %%\n",
                   language_name(options, i), of->documents, of->tokens, of->segments, of->nodes, of->broken_least,
                   of->broken_greedy,
                   of->broken_greedy > 0 ? 100 - 100 * (double)of->broken_least / (double)of->broken_greedy : 0);
    }
    for (int i = 0; i <= (int)options->grammars->len; i++)
        print_outcomes(&counts[i], language_name(options, i));
}

json_t *programs_json(const ProgramCounts *counts, const ProgramOptions *options)
{
    json_t *languages = json_object();
    for (int i = 0; i <= (int)options->grammars->len; i++) {
        const ProgramCounts *of = &counts[i];
        if (of->documents == 0)
            continue;
        json_t *one = json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "documents", (json_int_t)of->documents, "bytes",
                                (json_int_t)of->bytes, "tokens", (json_int_t)of->tokens, "segments",
                                (json_int_t)of->segments, "nodes", (json_int_t)of->nodes, "broken_least",
                                (json_int_t)of->broken_least, "broken_greedy", (json_int_t)of->broken_greedy);
        for (int outcome = 0; outcome < SYNTAX_OUTCOMES; outcome++)
            json_object_set_new(one, syntax_outcome_names[outcome], json_integer(of->outcomes[outcome]));
        json_object_set_new(languages, language_name(options, i), one);
    }
    return languages;
}
