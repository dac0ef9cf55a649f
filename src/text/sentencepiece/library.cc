#include <glib.h>
#include <jansson.h>
extern "C" {
#include "text/sentencepiece/model.h"
#include "text/sentencepiece/sentencepiece.h"
#include "text/word_table.h"
}

#include <algorithm>
#include <exception>
#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

using sentencepiece::util::Status;

namespace sentencepiece::logging
{
void SetMinLogLevel(int level); /* exported by the library, but not declared in its headers */
}

#define QUIET 3 /* print only messages that end the process; others are returned in a Status */

namespace
{
struct Model {
    sentencepiece::SentencePieceProcessor processor;
    std::vector<std::string> pieces;
    SpEncoder *encoder = nullptr;
    BlankSpace space = BLANK_BEFORE;

    ~Model()
    {
        sp_encoder_close(encoder);
    }
};

/* ": WORDS" of a message of the library, "FILE(LINE) [CONDITION] WORDS"; "" if there are no words. */
std::string words_of(const Status &status)
{
    const std::string message = status.error_message();
    const size_t at = message.rfind("] ");
    const std::string words = at == std::string::npos ? message : message.substr(at + 2);
    return words.empty() ? "" : ": " + words;
}

/* Runs `body`, which returns a Status. A bad status and any exception become a GError "WHAT: reason". */
template <typename Body> bool guarded(const char *what, GError **error, Body body)
{
    try {
        const Status status = body();
        if (status.ok())
            return true;
        g_set_error(error, LOAM_ERROR, LOAM_ERROR_USER, "%s%s", what, words_of(status).c_str());
    } catch (const std::bad_alloc &) {
        g_set_error(error, LOAM_ERROR, LOAM_ERROR_MACHINE, "%s: out of memory", what);
    } catch (const std::exception &failure) {
        g_set_error(error, LOAM_ERROR, LOAM_ERROR_USER, "%s: %s", what, failure.what());
    }
    return false;
}

/* The special tokens: the unknown piece and all control symbols. */
GArray *list_specials(const Model &model)
{
    GArray *added = g_array_new(FALSE, FALSE, sizeof(AddedToken));
    for (int id = 0; id < model.processor.GetPieceSize(); id++) {
        if (!model.processor.IsControl(id) && !model.processor.IsUnknown(id))
            continue;
        AddedToken token = {};
        token.content = model.pieces[static_cast<size_t>(id)].c_str();
        token.id = id;
        token.special = true;
        const char *piece;
        token.lstrip =
            token_role_of(token.content, &piece) == ROLE_MASK; /* the space before a mask is part of the masked word */
        g_array_append_val(added, token);
    }
    return added;
}

/* Whether a model gets sentinels: T5's has no beginning-of-sequence token, as GPT's has, and no mask, as BERT's has. */
bool is_like_t5(const sentencepiece::SentencePieceProcessor &processor)
{
    bool masks = false;
    for (const char *const *piece = token_role_pieces(ROLE_MASK); *piece; piece++)
        masks |= processor.IsControl(processor.PieceToId(*piece));
    return processor.bos_id() < 0 && !masks;
}

int id_by_library(const void *opaque, const char *piece)
{
    auto *model = static_cast<const Model *>(opaque);
    int id = model->processor.PieceToId(piece);
    return id >= 0 && model->pieces[static_cast<size_t>(id)] == piece ? id : -1;
}

void *open_by_library(const char *, const char *data, size_t bytes, TokenizerFacts *facts, GError **error)
{
    static const char *const names[] = { nullptr, "sentencepiece-unigram", "sentencepiece-bpe", "sentencepiece-word",
                                         "sentencepiece-char" };
    /* Checked first, since the library reads outside its memory for a corrupt character map. */
    SpModel *parsed = sp_model_open(data, bytes, error);
    if (parsed == nullptr) {
        fail_context(error, "not a SentencePiece model");
        return nullptr;
    }
    sentencepiece::logging::SetMinLogLevel(QUIET);
    const char *name = names[parsed->type];
    const bool is_llama = facts->class_.text == CLASS_METASPACE && parsed->type == SP_BPE;
    const uint64_t hash = is_llama ? tokenizer_class_hash(&facts->class_) : 0;
    if (is_llama)
        sp_model_set_class(parsed, &facts->class_);
    auto *model = new Model;
    auto &processor = model->processor;
    bool ok = guarded("not a SentencePiece model", error, [&] {
        auto status = processor.LoadFromSerializedProto({ data, bytes });
        for (int id = 0; status.ok() && id < processor.GetPieceSize(); id++)
            model->pieces.push_back(processor.IdToPiece(id));
        return status;
    });
    model->space = sp_blank_space(parsed);
    model->encoder = sp_encoder_open(parsed, ok ? error : nullptr);
    if (!ok || model->encoder == nullptr) {
        delete model;
        return nullptr;
    }
    *facts = { name,
               processor.GetPieceSize(),
               processor.pad_id(),
               processor.eos_id(),
               processor.unk_id(),
               processor.bos_id(),
               is_like_t5(processor),
               list_specials(*model),
               model->space,
               false,
               nullptr,
               nullptr,
               {},
               hash,
               frame_of(-1, id_by_library(model, "</s>"), false),
               false };
    return model;
}

void close_library(void *model)
{
    delete static_cast<Model *>(model);
}

const char *piece_by_library(const void *opaque, int id)
{
    return static_cast<const Model *>(opaque)->pieces[static_cast<size_t>(id)].c_str();
}

bool encode_by_library(const void *opaque, const char *text, size_t bytes, TextEdges edges, GArray *ids, GError **error)
{
    return sp_encoder_encode(static_cast<const Model *>(opaque)->encoder, text, bytes, edges, ids, error);
}

bool ends_by_library(const void *opaque, const char *text, size_t bytes, TextEdges edges, const int32_t *ids, int64_t n,
                     uint32_t *ends)
{
    return sp_encoder_ends(static_cast<const Model *>(opaque)->encoder, text, bytes, edges, ids, n, ends);
}

/* The library drops a text's first space and, if pieces end with theirs, its last one. Beside a blank they stay. */
bool decode_by_library(const void *opaque, const int32_t *ids, int64_t n, TextEdges edges, GString *text,
                       GError **error)
{
    auto *model = static_cast<const Model *>(opaque);
    std::string out;
    if (!guarded("decoding", error, [&] { return model->processor.Decode(std::vector<int>(ids, ids + n), &out); }))
        return false;
    if (edges.after_blank && n > 0 && g_str_has_prefix(piece_by_library(opaque, ids[0]), SP_SPACE) && out[0] != ' ')
        g_string_append_c(text, ' ');
    g_string_append_len(text, out.data(), static_cast<gssize>(out.size()));
    if (edges.before_blank && n > 0 && model->space == BLANK_AFTER &&
        g_str_has_suffix(piece_by_library(opaque, ids[n - 1]), SP_SPACE) && (out.empty() || out.back() != ' '))
        g_string_append_c(text, ' ');
    return true;
}

/* The corpus for the library's trainer, line by line. */
class Lines : public sentencepiece::SentenceIterator
{
  public:
    GError *error = nullptr;
    int64_t left_out = 0; /* words that are too long */

    Lines(TokenizerText next, void *context) : next_(next), context_(context)
    {
        Next();
    }
    bool done() const override
    {
        return done_;
    }
    const std::string &value() const override
    {
        return line_;
    }
    Status status() const override
    {
        return error ? Status(sentencepiece::util::StatusCode::kAborted, error->message) : Status();
    }
    void Next() override
    {
        do {
            if (rest_bytes_ == 0 && !next_(context_, &rest_, &rest_bytes_, &error)) {
                done_ = true;
                return;
            }
            take();
        } while (!is_usable());
    }

  private:
    /* A character after which a line may be cut: a mark, or any of a script that is written without spaces. */
    static bool is_mark(gunichar c)
    {
        static const GUnicodeScript without_spaces[] = { G_UNICODE_SCRIPT_HAN,      G_UNICODE_SCRIPT_HIRAGANA,
                                                         G_UNICODE_SCRIPT_KATAKANA, G_UNICODE_SCRIPT_THAI,
                                                         G_UNICODE_SCRIPT_LAO,      G_UNICODE_SCRIPT_KHMER,
                                                         G_UNICODE_SCRIPT_MYANMAR,  G_UNICODE_SCRIPT_TIBETAN };
        return c > 127 && (g_unichar_ispunct(c) || std::count(std::begin(without_spaces), std::end(without_spaces),
                                                              g_unichar_get_script(c)) > 0);
    }

    /* Takes at most LONG_WORD_BYTES bytes of the line, since the trainer drops lines of more than 4192: up to a space
     * if there is one in them, otherwise up to a mark. Without either, the word is left out and the line empty. */
    void take()
    {
        const size_t most = std::min(rest_bytes_, static_cast<size_t>(LONG_WORD_BYTES));
        size_t at = 0, space = 0, mark = 0; /* space, mark: end of the last one in `most` bytes; 0 means none */
        while (at < rest_bytes_ && (at < most || space + mark == 0)) {
            const gunichar c = g_utf8_get_char(rest_ + at);
            at = static_cast<size_t>(g_utf8_next_char(rest_ + at) - rest_);
            const bool ends = c == ' ' || at == rest_bytes_;
            if (at > most && (ends || is_mark(c)))
                break;
            if (ends && at <= most)
                space = at;
            else if (is_mark(c))
                mark = at;
        }
        const size_t taken = space ? space : mark;
        left_out += taken == 0 && at > 0; /* a blank line has no word */
        line_.assign(rest_, taken);
        at = taken ? taken : at;
        rest_ += at;
        rest_bytes_ -= at;
    }

    /* False for lines that the library drops: without a visible character other than U+2581 (its space) and U+FFFD (its
     * mark for invalid bytes), or with U+2585, which it reserves. It calls exit() if no line is left. */
    bool is_usable() const
    {
        if (line_.find("\xe2\x96\x85") != std::string::npos)
            return false;
        for (const char *p = line_.data(), *end = p + line_.size(); p < end; p = g_utf8_next_char(p))
            if (gunichar c = g_utf8_get_char(p); g_unichar_isgraph(c) && c != 0x2581 && c != 0xfffd)
                return true;
        return false;
    }

    TokenizerText next_;
    void *context_;
    const char *rest_ = nullptr; /* the part of the current line that has not been taken */
    size_t rest_bytes_ = 0;
    std::string line_;
    bool done_ = false;
};

/* Special tokens get ids in their order: pad, unk, bos and eos through settings of their own, all others as control
 * symbols, which the library numbers from the first free id on. */
void set_specials(const TokenizerTraining *training, std::unordered_map<std::string, std::string> *settings)
{
    static const char *const t5[] = { "<pad>", "</s>", "<unk>", nullptr };
    static const std::pair<TokenRole, const char *> roles[] = {
        { ROLE_PAD, "pad" }, { ROLE_UNK, "unk" }, { ROLE_BOS, "bos" }, { ROLE_EOS, "eos" }
    };
    std::string others;
    int id = 0;
    for (const auto &[role, name] : roles)
        (*settings)[std::string(name) + "_id"] = "-1";
    for (auto entry = training->special_tokens ? training->special_tokens : t5; *entry; entry++, id++) {
        const char *piece;
        TokenRole role = token_role_of(*entry, &piece);
        bool own = false;
        for (const auto &[known, name] : roles) {
            if (known != role)
                continue;
            own = true;
            (*settings)[std::string(name) + "_id"] = std::to_string(id);
            (*settings)[std::string(name) + "_piece"] = piece;
        }
        if (!own)
            others += (others.empty() ? "" : ",") + std::string(piece);
    }
    (*settings)["control_symbols"] = others;
}

std::unordered_map<std::string, std::string> library_settings(const char *type, const TokenizerTraining *training)
{
    char coverage[G_ASCII_DTOSTR_BUF_SIZE];
    g_ascii_dtostr(coverage, sizeof coverage, training->character_coverage);
    std::unordered_map<std::string, std::string> settings = {
        { "model_type", type },
        { "vocab_size", std::to_string(training->vocab_size) },
        { "character_coverage", coverage },
        { "byte_fallback", training->byte_fallback ? "true" : "false" },
        { "num_threads", "8" }, /* fixed, since sums of floats, hence the model's bytes, depend on it */
        { "input_sentence_size", "0" },
        { "shuffle_input_sentence", "false" },
        { "train_extremely_large_corpus",
          "true" }, /* 64-bit offsets; with 32 bits the library exits at 2^31 characters */
        { "minloglevel", std::to_string(QUIET) },
    };
    set_specials(training, &settings);
    return settings;
}
} // namespace

extern "C" const TokenizerKind kind_sentencepiece = { "spiece.model",    open_by_library,  close_library,
                                                      id_by_library,     piece_by_library, encode_by_library,
                                                      decode_by_library, nullptr,          nullptr,
                                                      nullptr,           nullptr,          sp_model_json,
                                                      ends_by_library };

bool sp_library_train(const char *type, const TokenizerTraining *training, TokenizerText next, void *context,
                      char **model, size_t *bytes, int64_t *left_out, GError **error)
{
    std::string trained;
    Lines lines(next, context);
    bool empty = lines.error == nullptr && lines.done();
    bool ok = !empty && lines.error == nullptr && guarded("training", error, [&] {
        return sentencepiece::SentencePieceTrainer::Train(library_settings(type, training), &lines, &trained);
    });
    if (lines.error != nullptr) {
        g_clear_error(error);
        g_propagate_error(error, lines.error);
        return false;
    }
    *left_out = lines.left_out;
    if (empty)
        return word_table_report_long(*left_out, LONG_WORD_TEXT, false, error);
    if (ok) {
        *bytes = trained.size();
        *model = static_cast<char *>(g_memdup2(trained.data(), trained.size()));
    }
    return ok;
}
