"""The compiled modules, as setuptools wants to be told; everything else is in pyproject.toml.

Cython runs when extensions are built, not when metadata is asked for. The C code goes to
build/, so that only the modules themselves stand beside their sources.
"""

import os
import sys
import tempfile
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

sys.path.insert(0, str(Path(__file__).parent / "build_backend"))

import backend


class BuildKernels(build_ext):
    """Cython, then the compiler that the backend found, with flags of our own."""

    def build_extensions(self) -> None:
        """Make C of the modules, compile and link."""
        from Cython.Build import cythonize

        made = cythonize(self.extensions, build_dir="build/cython", quiet=True)
        for extension, compiled in zip(self.extensions, made, strict=True):
            extension.sources = compiled.sources
        command = backend.compiler()
        if command is None:
            sys.exit("no C compiler")
        compile_one = [*command, *backend.FLAGS]
        bundle = ["-bundle", "-undefined", "dynamic_lookup"]
        link = [*command, *(bundle if sys.platform == "darwin" else ["-shared", "-s"])]
        self.compiler.set_executables(compiler=compile_one, compiler_so=compile_one, linker_so=link)
        # Zig keeps some 50 MB of what it has built; nobody needs them again.
        with tempfile.TemporaryDirectory() as cache:
            os.environ["ZIG_GLOBAL_CACHE_DIR"] = os.environ["ZIG_LOCAL_CACHE_DIR"] = cache
            super().build_extensions()


MODULES = [] if backend.wanted() is backend.Wanted.PLAIN else backend.MODULES
EXTENSIONS = [Extension(module, [str(backend.source(module))]) for module in MODULES]

setup(ext_modules=EXTENSIONS, cmdclass={"build_ext": BuildKernels})
