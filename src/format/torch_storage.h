/* torch_storage.h: the two forms of a file of torch.save: its pickle, and the storages outside the pickle, in which the
 * elements of its tensors lie. Shared by torch_file.c and torch_storage.c only. */
#pragma once

#include "format/pickle.h"

typedef struct TorchStorages TorchStorages;
TorchStorages *torch_storages_open(GBytes *file, GError **error); /* the whole file */
void torch_storages_free(TorchStorages *storages);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(TorchStorages, torch_storages_free)
/* The object that was saved. */
const PickleValue *torch_storages_root(const TorchStorages *storages);

/* A storage as a tensor refers to it. */
typedef struct TorchStorage {
    GBytes *memory;    /* of the whole storage; borrowed */
    const char *dtype; /* as safetensors calls it: "F32"; NULL where it has no such type, or the storage has none */
    int64_t first;     /* number of the element that counts as the first */
} TorchStorage;

/* The storage of a PICKLE_PERSISTENT. */
bool torch_storage_find(TorchStorages *storages, const PickleValue *persistent, TorchStorage *storage, GError **error);
/* safetensors' name of a dtype, PICKLE_NAME "torch.float32"; NULL where it has no such type. */
const char *torch_dtype(const PickleValue *name);
