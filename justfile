# Each recipe is one call. `just` lists them.
default:
    @just --list

# A hub, two clusters, and a policy that becomes Compliant on both.
demo:
    cargo xtask demo

# Everything, from a bare machine with Rust and Go.
test:
    cargo xtask test

# What every commit must pass.
check:
    cargo xtask check

# Write the generated files.
gen:
    cargo xtask gen

# The figures in docs/benchmarks.md.
bench:
    cargo xtask bench
