/* torch_storage.h: reads a file of torch.save: a pickle, and the storages that hold the elements of its tensors. Since
 * PyTorch 1.6 the file is a zip archive; older ones are several pickles one after another. Only for torch_file.c and
 * torch_storage.c. */
#pragma once

#include "format/pickle.h"

typedef struct TorchStorages TorchStorages;
TorchStorages *torch_storages_open(GBytes *file, GError **error); /* file: the content of the file */
void torch_storages_free(TorchStorages *storages);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(TorchStorages, torch_storages_free)
/* The value of the object that was saved. */
const PickleValue *torch_storages_root(const TorchStorages *storages);

/* A storage: the array (torch.storage) that holds the elements of a tensor. */
typedef struct TorchStorage {
    GBytes *memory;    /* bytes of the storage; owned by TorchStorages */
    const char *dtype; /* the dtype's name in safetensors, "F32"; NULL if it has none, or the storage is untyped */
    int64_t first;     /* index in `memory` of the storage's first element; it is not 0 for a view of another storage */
} TorchStorage;

/* Finds the storage that a PICKLE_PERSISTENT value refers to. */
bool torch_storage_find(TorchStorages *storages, const PickleValue *persistent, TorchStorage *storage, GError **error);
/* The safetensors name ("F32") for a dtype given as a PICKLE_NAME ("torch.float32"); NULL if there is none. */
const char *torch_dtype(const PickleValue *name);
