"""Other languages through the same call: shell, C, C++, JavaScript, Java, any argv."""

from __future__ import annotations

import shutil

import pytest

from quintain.sandbox import ExecutionStatus, Program, execute
from quintain.types import Limits

_LIMITS = Limits(cpu_s=10, wall_s=60, processes=128)


def _needs(name: str) -> None:
    if shutil.which(name, path="/usr/local/bin:/usr/bin:/bin") is None:
        pytest.skip(f"{name} is not installed")


def _c(source: str, compiler: str = "gcc", name: str = "main.c") -> Program:
    return Program(
        argv=("./main",), build=(compiler, name, "-o", "main"), files={name: source.encode()}
    )


def test_shell_runs() -> None:
    assert execute(Program(argv=("sh", "-c", "echo $((6 * 7))"))).stdout == b"42\n"


def test_c_is_compiled_and_run() -> None:
    _needs("gcc")
    done = execute(_c('#include <stdio.h>\nint main(void) { puts("42"); return 3; }'), _LIMITS)
    assert (done.status, done.exit_code, done.stdout) == ("runtime_error", 3, b"42\n")


def test_cpp_is_compiled_and_run() -> None:
    _needs("g++")
    source = "#include <iostream>\nint main() { std::cout << 42 << std::endl; }"
    done = execute(_c(source, "g++", "main.cpp"), _LIMITS)
    assert (done.status, done.stdout) == ("ok", b"42\n")


def test_what_does_not_compile_is_a_compile_error() -> None:
    _needs("gcc")
    done = execute(_c("int main(void) { return"), _LIMITS)
    assert done.status is ExecutionStatus.COMPILE_ERROR
    assert b"error" in done.stderr
    assert done.stdout == b""


def test_a_compiler_that_never_ends_is_a_compile_error() -> None:
    _needs("gcc")
    limits = Limits(cpu_s=0.5, wall_s=30, memory_mib=128)
    done = execute(_c('#include "/dev/zero"\n'), limits)
    assert done.status is ExecutionStatus.COMPILE_ERROR


def test_a_build_command_that_is_missing_is_a_compile_error() -> None:
    done = execute(Program(argv=("true",), build=("no-such-compiler",)))
    assert (done.status, done.exit_code) == (ExecutionStatus.COMPILE_ERROR, 127)


def test_the_program_cannot_speak_for_its_build() -> None:
    program = Program(argv=("sh", "-c", "echo 1 >&3"), build=("true",))
    done = execute(program)
    assert done.status is ExecutionStatus.RUNTIME_ERROR
    assert b"3" in done.stderr


def test_javascript_runs() -> None:
    _needs("node")
    program = Program(argv=("node", "main.js"), files={"main.js": b"console.log(6 * 7)"})
    done = execute(program, _LIMITS)
    assert (done.status, done.stdout) == ("ok", b"42\n")


def test_java_runs() -> None:
    _needs("java")
    source = b"class Main { public static void main(String[] a) { System.out.println(6 * 7); } }"
    program = Program(argv=("java", "Main.java"), files={"Main.java": source})
    done = execute(program, Limits(cpu_s=30, wall_s=90, memory_mib=1024, processes=128))
    assert (done.status, done.stdout) == ("ok", b"42\n")
