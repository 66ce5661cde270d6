"""Checks that must fail: they show that tests can still fail in this process."""

from __future__ import annotations

import functools
import secrets
import types

import torch

#: Checks that must fail, with a token that nobody can know in their message.
CANARIES = (
    "assert False, token",
    "assert token == token[::-1] + '-', token",
    "assert isinstance(token, torch.Tensor), token",
    "assert torch.equal(one, other), token",
    "assert torch.allclose(one, other), token",
    "assert (one == other).all(), token",
    "torch.testing.assert_close(one, other, msg=token)",
)


@functools.cache
def _canary_code(check: str) -> types.CodeType:
    return compile(check, "<canary>", "exec", dont_inherit=True)


def canary() -> str:
    """Return which assert that must fail did not, or what is switched otherwise, or "".

    Student code can't reach this process. If it could, it would first of all make asserts pass.
    """
    if not torch.is_grad_enabled() or torch.is_inference_mode_enabled():
        return "gradients are switched off"
    if torch.get_default_dtype() is not torch.float32:
        return f"the default data type is {torch.get_default_dtype()}"
    for check in CANARIES:
        token = secrets.token_hex(8)
        names = {
            "torch": torch,
            "token": token,
            "one": torch.ones(2),
            "other": torch.zeros(2),
        }
        try:
            exec(_canary_code(check), names)
        except AssertionError as error:
            if token in str(error):
                continue
        except Exception as error:
            return f"a check that must fail ends with {type(error).__name__}: {check}"
        return f"a check that must fail passes: {check}"
    return ""
