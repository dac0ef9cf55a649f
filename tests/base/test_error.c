#include "base/error.h"

#include <errno.h>

static void codes_are_exit_statuses(void)
{
    g_autoptr(GError) user = NULL, machine = NULL;
    g_assert_false(fail_user(&user, "line %d", 7));
    g_assert_error(user, LOAM_ERROR, 1);
    g_assert_cmpstr(user->message, ==, "line 7");
    g_assert_false(fail_machine(&machine, "device %s", "lost"));
    g_assert_error(machine, LOAM_ERROR, 2);
    g_assert_cmpstr(machine->message, ==, "device lost");
}

static void expect_errno(int number, LoamError code, const char *wanted)
{
    g_autoptr(GError) error = NULL;
    errno = number;
    g_assert_false(fail_errno(&error, "writing", "x.bin"));
    g_assert_error(error, LOAM_ERROR, (gint)code);
    g_assert_cmpstr(error->message, ==, wanted);
}

static void errno_tells_user_from_machine(void)
{
    expect_errno(ENOENT, LOAM_ERROR_USER, "writing x.bin: No such file or directory");
    expect_errno(EACCES, LOAM_ERROR_USER, "writing x.bin: Permission denied");
    expect_errno(ENOSPC, LOAM_ERROR_MACHINE, "writing x.bin: No space left on device");
    expect_errno(EIO, LOAM_ERROR_MACHINE, "writing x.bin: Input/output error");
}

static void context_goes_before(void)
{
    g_autoptr(GError) error = NULL;
    g_assert_false(fail_context(&error, "nothing to add to"));
    g_assert_null(error);
    fail_machine(&error, "the disk is full");
    g_assert_false(fail_context(&error, "step %d", 3));
    g_assert_cmpstr(error->message, ==, "step 3: the disk is full");
    g_assert_error(error, LOAM_ERROR, LOAM_ERROR_MACHINE);
}

static void nobody_has_to_ask(void)
{
    g_assert_false(fail_user(NULL, "x"));
    g_assert_false(fail_errno(NULL, "x", "y"));
    g_assert_false(fail_context(NULL, "x"));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/error/codes_are_exit_statuses", codes_are_exit_statuses);
    g_test_add_func("/error/errno_tells_user_from_machine", errno_tells_user_from_machine);
    g_test_add_func("/error/context_goes_before", context_goes_before);
    g_test_add_func("/error/nobody_has_to_ask", nobody_has_to_ask);
    return g_test_run();
}
