/* keys.h: tables of the keys of config.json, one per architecture; functions read and write them for a ModelConfig. */
#pragma once

#include "base/log.h"
#include "model/special_tokens/special_tokens.h"

#include <string.h>

typedef enum HfKeyType {
    HF_KEY_INT,        /* into an int64_t */
    HF_KEY_REAL,       /* into a double */
    HF_KEY_FLAG,       /* into a bool */
    HF_KEY_ACTIVATION, /* the name of an activation, into an int (Activation) */
    HF_KEY_FIXED       /* not stored in ModelConfig: loam supports only one value */
} HfKeyType;

typedef struct HfKey {
    const char *key; /* "num_hidden_layers" */
    HfKeyType type;
    size_t field;         /* offset in ModelConfig */
    double default_value; /* value that transformers uses if the key is absent */
    double min, max;      /* HF_KEY_INT, HF_KEY_REAL: inclusive */
    const char *text;     /* HF_KEY_ACTIVATION: the default; HF_KEY_FIXED: the one value, as JSON */
} HfKey;

/* clang-format off */
#define HF_FIELD(field)                              offsetof(ModelConfig, field)
#define HF_INT(key, field, default_value, min, max)  { key, HF_KEY_INT, HF_FIELD(field), default_value, min, max, NULL }
#define HF_REAL(key, field, default_value, min, max) { key, HF_KEY_REAL, HF_FIELD(field), default_value, min, max, NULL }
#define HF_FLAG(key, field, default_value)           { key, HF_KEY_FLAG, HF_FIELD(field), default_value, 0, 0, NULL }
#define HF_ACTIVATION(key, field, name)              { key, HF_KEY_ACTIVATION, HF_FIELD(field), 0, 0, 0, name }
#define HF_FIXED(key, json)                          { key, HF_KEY_FIXED, 0, 0, 0, 0, json }
/* clang-format on */

/* A second name of a key of config.json, which transformers reads too (attribute_map). */
typedef struct HfAlias {
    const char *alias, *key; /* "hidden_size", "d_model" */
} HfAlias;

/* Renames the aliases in `root` to their keys; `aliases` ends with NULL. An error if both are there and differ. */
bool hf_aliases_take(json_t *root, const HfAlias *aliases, GError **error);

/* A key that is absent or null gives the default, except that null is false for a flag, as in Python. A value of
 * another type or out of range is an error that names the key. */
bool hf_key_read(const json_t *root, const HfKey *key, ModelConfig *config, GError **error);
/* Reads every key of the table `keys`, which ends with an entry of NULL; keys NULL means no table. */
bool hf_keys_read(const json_t *root, const HfKey *keys, ModelConfig *config, GError **error);
/* Writes every key of the table, with its value from *config or its fixed value. */
void hf_keys_write(json_t *root, const HfKey *keys, const ModelConfig *config);

/* Reads a flag into *out. If the key is absent, *out keeps the caller's default. */
bool hf_flag_read(const json_t *root, const char *key, bool *out, GError **error);

/* Writes a token id; -1 writes nothing. */
void hf_id_write(json_t *root, const char *key, int id);
/* hf_eos_write writes eos_token_id: one id, a list of several, or null for none, since transformers has a default id
 * for an absent key. hf_ends_write writes bos_token_id in the same way, and eos_token_id. */
void hf_eos_write(json_t *root, const TokenRoles *roles);
void hf_ends_write(json_t *root, const TokenRoles *roles);
int hf_activation_of(const char *name);         /* "gelu_new"; -1 means that loam has no such activation */
const char *hf_activation_name(int activation); /* the reverse of hf_activation_of */
/* Fails: a key names an activation (NULL: no string) that loam does not have. more: what else it may be, or "". */
bool hf_fail_activation(const char *key, const char *name, const char *more, GError **error);
/* Warns if the dropout rate `key`, which loam does not have, differs from `used`, the rate that loam uses instead. */
void hf_warn_unused_rate(const json_t *root, const char *key, double used);

/* Reads the base of rotary positions: from rope_parameters (or rope_parameters[layers] if `layers` is not NULL), as
 * transformers 5 writes it, or from `key`, as transformers 4 writes it; default_base if both are absent. Scaled rotary
 * positions, and those of a part of each attention head, are an error. */
bool hf_rotary_read(const json_t *root, const char *layers, const char *key, double default_base, double *base,
                    GError **error);
json_t *hf_rotary_json(double base); /* rope_parameters of this base */

/* Reads a JSON file of at most 1 MiB that holds an object; NULL with an error. json_decref. */
json_t *hf_read_object(const char *path, GError **error);
/* Writes FOLDER/NAME, and takes ownership of `root`. */
bool hf_write_object(const char *folder, const char *name, json_t *root, GError **error);
