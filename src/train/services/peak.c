/* peak.c: the rate of matrix products, by which MFU divides, measured between the steps. */

#include "train/services/service.h"

#define SHARE 0.003 /* of a run's time */

static void *peak_open(const Trainer *t, G_GNUC_UNUSED GError **error)
{
    GemmPeak *peak = g_new0(GemmPeak, 1);
    gemm_peak_open(peak, t->dev);
    return peak;
}

static void peak_free(void *own)
{
    gemm_peak_clear(own);
    g_free(own);
}

static Verdict peak_after_step(void *own, G_GNUC_UNUSED const Trainer *t, G_GNUC_UNUSED GError **error)
{
    gemm_peak_turn(own, SHARE);
    return VERDICT_GO_ON;
}

/* The rate of all ranks together, estimated from that of this one. */
static void peak_measure(void *own, const Trainer *t, TrainRecord *record)
{
    const PeakRate peak = gemm_peak_rate(own);
    const int ranks = comm_size(t->mesh.world);
    record->peak = (PeakRate){ peak.median * ranks, peak.low * ranks, peak.high * ranks };
}

const Service peak_service = {
    .pauses = PAUSES_SPEED, .open = peak_open, .free = peak_free, .after_step = peak_after_step, .measure = peak_measure
};
