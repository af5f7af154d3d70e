"""Faults in calls and in what gradients keep of them."""

from __future__ import annotations

from fault import Fault

CALLS = [
    Fault(
        "numbers_of_the_last_call",
        "python/bind/dispatch/inline_cache.cpp",
        "if (!std::equal(plan.scalars.begin(), plan.scalars.end(), c.scalars)) return false;",
        "",
        "a call with another number gets the shapes of the call before it",
    ),
    Fault(
        "bytes_inside_an_element",
        "runtime/array_view.cpp",
        "sum.add(1, a.item_bytes() + b.item_bytes() - 2);",
        "",
        "arrays that share bytes of elements with other addresses",
    ),
    Fault(
        "optimised_although_it_overlaps",
        "runtime/versions/version.cpp",
        "if (in_source_order) {",
        "if (in_source_order && v.overlapping) {",
        "calls whose written argument shares memory with another one",
    ),
    Fault(
        "memory_that_others_write",
        "runtime/calls/tape.cpp",
        "if (!t.storage().is_viewed()) [[likely]]",
        "if (t.storage().is_pinned()) [[likely]]",
        "writes through an array over a tensor change gradients of earlier calls",
    ),
    Fault(
        "array_over_pinned_memory",
        "python/bind/dispatch/tensor.cpp",
        "bool writable = !t.storage().is_pinned();",
        "bool writable = true;",
        "an array that is asked for after a call can change what the gradient of the call reads",
    ),
]
