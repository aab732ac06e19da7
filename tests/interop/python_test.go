package interop

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// The official SDK, in both generations that are in use, each with a reference
// server.
var (
	pythonPackages   = venv("python", "python/requirements.txt")
	pythonV1Packages = venv("python-v1", "python/requirements-v1.txt")
)

// venv is a virtual environment with pinned packages.
func venv(name, requirements string) *installation {
	return &installation{
		name: name,
		from: []string{requirements},
		probe: func(ctx context.Context) (with, lacks string) {
			// What is installed is for one version of Python, and leans on where it is.
			const ask = "import sys, venv, ensurepip; print(sys.version_info >= (3, 10), sys.version, sys.executable)"
			out, err := exec.CommandContext(ctx, "python3", "-c", ask).CombinedOutput()
			said := strings.TrimSpace(string(out))
			if err != nil || !strings.HasPrefix(said, "True ") {
				return "", fmt.Sprintf("the servers on Python need python3, 3.10 or later, with venv and pip: "+
					"install it from https://python.org or by your system's packages (%v) %s", err, said)
			}
			return said, ""
		},
		install: func(ctx context.Context, directory string) ([]byte, error) {
			if output, err := exec.CommandContext(ctx, "python3", "-m", "venv", directory).CombinedOutput(); err != nil {
				return output, err
			}
			return exec.CommandContext(ctx, interpreter(directory), "-m", "pip", "install", "--quiet",
				"--disable-pip-version-check", "--no-input", "--no-compile", "--no-deps", "--require-hashes", "-r", requirements).CombinedOutput()
		},
	}
}

// interpreter is the one thing of a virtual environment that may be run after the
// environment was moved: its scripts name the place where it was made.
func interpreter(directory string) string {
	if runtime.GOOS == "windows" {
		return filepath.Join(directory, "Scripts", "python.exe")
	}
	return filepath.Join(directory, "bin", "python")
}

// counter is server.py: a server of ours, on an SDK that is not.
func counter(packages *installation) func(*place) program {
	words := map[transportKind]string{stdio: "stdio", streamable: "streamable-http", sse: "sse"}
	paths := map[transportKind]string{streamable: "/mcp", sse: "/sse"}
	return func(p *place) program {
		p.Helper()
		script, err := filepath.Abs("python/server.py")
		if err != nil {
			p.Fatal(err)
		}
		args := []string{script, words[p.over]}
		if p.port != "" {
			args = append(args, p.port)
		}
		return program{name: interpreter(packages.directory(p.T)), args: args, path: paths[p.over], mark: "server.py"}
	}
}

// gitServer works on the row's directory, which is a repository.
func gitServer(p *place) program {
	p.Helper()
	return program{
		name: interpreter(pythonPackages.directory(p.T)), args: []string{"-m", "mcp_server_git", "--repository", p.dir},
		env: gitAlone, mark: "mcp_server_git", prepare: repository,
	}
}

// sqlite has a database of its own for each block.
func sqlite(p *place) program {
	p.Helper()
	return program{
		name: interpreter(pythonV1Packages.directory(p.T)),
		args: []string{"-c", "import mcp_server_sqlite; mcp_server_sqlite.main()", "--db-path", filepath.Join(p.dir, p.block+".db")},
		mark: "mcp_server_sqlite",
	}
}
