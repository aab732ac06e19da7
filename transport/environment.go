package transport

import (
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
)

// baseVariables are what every server gets of the worker's environment: what
// the official MCP SDKs hand on, plus locale, temporary directory and time zone.
// Names are compared in upper case on Windows, as that system does.
func baseVariables() []string {
	if runtime.GOOS == "windows" {
		return []string{
			"APPDATA", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATH", "PATHEXT",
			"PROCESSOR_ARCHITECTURE", "PROGRAMDATA", "PROGRAMFILES", "SYSTEMDRIVE",
			"SYSTEMROOT", "TEMP", "TMP", "USERDOMAIN", "USERNAME", "USERPROFILE", "WINDIR",
		}
	}
	return []string{"HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER"}
}

func isBaseVariable(key string) bool {
	return slices.Contains(baseVariables(), key) ||
		runtime.GOOS != "windows" && strings.HasPrefix(key, "LC_")
}

// An environment is what a server's process gets, made anew for each server so
// that a change of the worker's own reaches the next one.
type environment struct {
	values  map[string]string
	secrets []string // what may not be repeated to anybody
}

func newEnvironment(options CommandOptions) *environment {
	e := &environment{values: make(map[string]string)}
	for _, entry := range os.Environ() {
		key, value, _ := strings.Cut(entry, "=")
		// A value that begins so is a function that a shell has exported: code.
		if isBaseVariable(normalKey(key)) && !strings.HasPrefix(value, "()") {
			e.set(key, value)
		}
	}
	for _, secret := range options.Secrets {
		// What stands in the base set is none: a home directory, say.
		if !slices.Contains(slices.Collect(maps.Values(e.values)), secret) {
			e.secrets = append(e.secrets, secret)
		}
	}
	for _, key := range options.InheritEnv {
		if value, ok := os.LookupEnv(key); ok {
			e.set(key, value)
			e.keepSecret(key, value)
		}
	}
	for _, entry := range options.Env {
		key, value, _ := strings.Cut(entry, "=")
		e.set(key, value)
		e.keepSecret(key, value)
	}
	return e
}

func (e *environment) set(key, value string) { e.values[normalKey(key)] = value }

func (e *environment) get(key string) string { return e.values[key] }

func (e *environment) keepSecret(key, value string) {
	if !isBaseVariable(normalKey(key)) {
		e.secrets = append(e.secrets, value)
	}
}

// entries returns the environment in the form that the system takes, sorted.
func (e *environment) entries() []string {
	entries := make([]string, 0, len(e.values))
	for key, value := range e.values {
		entries = append(entries, key+"="+value)
	}
	slices.Sort(entries)
	return entries
}

func normalKey(key string) string {
	if runtime.GOOS == "windows" {
		return strings.ToUpper(key)
	}
	return key
}

// checkEnvironment tells what is wrong with the options' variables, without a
// value of one: an entry that lacks its "=" may be a bare secret.
func checkEnvironment(options CommandOptions) string {
	for _, entry := range options.Env {
		key, value, ok := strings.Cut(entry, "=")
		if !ok || key == "" {
			return `an entry of CommandOptions.Env is not of the form "KEY=value"`
		}
		if strings.ContainsRune(key+value, 0) {
			return "CommandOptions.Env: the entry of " + key + " holds a zero byte"
		}
	}
	for _, key := range options.InheritEnv {
		if key == "" || strings.ContainsAny(key, "=\x00") {
			return `an entry of CommandOptions.InheritEnv is not the name of a variable; set "KEY=value" in Env`
		}
	}
	return ""
}
