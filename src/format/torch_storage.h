/* torch_storage.h: a file of torch.save as a pickle and its storages, which hold the elements of tensors. The file is a
 * zip since PyTorch 1.6; older ones are several pickles one after another. Only for torch_file.c and torch_storage.c.
 */
#pragma once

#include "format/pickle.h"

typedef struct TorchStorages TorchStorages;
TorchStorages *torch_storages_open(GBytes *file, GError **error); /* file: the bytes of the whole file */
void torch_storages_free(TorchStorages *storages);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(TorchStorages, torch_storages_free)
/* The object that was saved. */
const PickleValue *torch_storages_root(const TorchStorages *storages);

/* A storage (torch.storage) that a tensor refers to. */
typedef struct TorchStorage {
    GBytes *memory;    /* bytes of the whole storage; owned by TorchStorages */
    const char *dtype; /* "F32", as in safetensors; NULL for a dtype that safetensors lacks or an untyped storage */
    int64_t first;     /* index in `memory` of the storage's first element; not 0 for a view of another storage */
} TorchStorage;

/* Finds the storage that a PICKLE_PERSISTENT value names. */
bool torch_storage_find(TorchStorages *storages, const PickleValue *persistent, TorchStorage *storage, GError **error);
/* The name in safetensors ("F32") of a dtype that is a PICKLE_NAME ("torch.float32"); NULL if safetensors lacks the
 * dtype. */
const char *torch_dtype(const PickleValue *name);
