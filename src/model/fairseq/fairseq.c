#include "model/fairseq/fairseq.h"

#include "format/torch_file.h"
#include "model/fairseq/checkpoint.h"

Model *fairseq_import(Device *dev, const char *path, GError **error)
{
    g_autoptr(TensorFile) file = torch_open(path, error);
    if (file == NULL)
        return NULL;
    Model *model = fairseq_t5_is(file) ? fairseq_t5_open(file, dev, error) : fairseq_lm_open(file, dev, error);
    if (model == NULL)
        fail_context(error, "%s", path);
    return model;
}
