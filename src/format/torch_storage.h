/* torch_storage.h: a file of torch.save, a zip since PyTorch 1.6 and pickles one after another before: its pickle, and
 * the storages beside it, which hold the elements of its tensors. Shared by torch_file.c and torch_storage.c only. */
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
    const char *dtype; /* "F32", as in safetensors; NULL for a dtype that safetensors lacks or an untyped storage */
    int64_t first;     /* number of elements in `memory` before the storage's first; above 0 for a view */
} TorchStorage;

/* Finds the storage that a PICKLE_PERSISTENT value names. */
bool torch_storage_find(TorchStorages *storages, const PickleValue *persistent, TorchStorage *storage, GError **error);
/* safetensors' name of a dtype, PICKLE_NAME "torch.float32"; NULL for a dtype that safetensors lacks. */
const char *torch_dtype(const PickleValue *name);
