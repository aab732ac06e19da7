package launch

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
)

// A server that the environment names is taken as it is: nothing is built or started, for which there would be no means.
func TestConnectTakesTheServerOfTheEnvironment(t *testing.T) {
	unconfigured(t)
	t.Chdir(t.TempDir())
	t.Setenv("PATH", "")
	t.Setenv("TEMPORAL_ADDRESS", "temporal.example:7233")
	server, err := Connect(t.Context(), Options{Namespace: "fallback"})
	if err != nil {
		t.Fatal(err)
	}
	if server.Embedded || server.Address != "temporal.example:7233" || server.Namespace != "fallback" {
		t.Errorf("server %s, %s, embedded %t; want temporal.example:7233, fallback, false",
			server.Address, server.Namespace, server.Embedded)
	}
	if err := server.Stop(); err != nil {
		t.Error(err)
	}
}

// So is one that a profile names, with all that the profile says, of which a print of the server shows no secret.
func TestConnectTakesTheServerOfAProfile(t *testing.T) {
	unconfigured(t)
	file := filepath.Join(t.TempDir(), "temporal.toml")
	write(t, file, `[profile.cloud]
address = "cloud.example:7233"
namespace = "team"
api_key = "not-to-be-seen"
`)
	t.Setenv("TEMPORAL_CONFIG_FILE", file)
	t.Setenv("TEMPORAL_PROFILE", "cloud")
	server, err := Connect(t.Context(), Options{Namespace: "fallback"})
	if err != nil {
		t.Fatal(err)
	}
	options, err := server.ClientOptions()
	if err != nil {
		t.Fatal(err)
	}
	if server.Embedded || options.HostPort != "cloud.example:7233" || options.Namespace != "team" {
		t.Errorf("options %s, %s; want cloud.example:7233, team", options.HostPort, options.Namespace)
	}
	if options.Credentials == nil || options.ConnectionOptions.TLS == nil {
		t.Error("the profile's key and TLS aren't in the options")
	}
	if printed := fmt.Sprintf("%+v", server); strings.Contains(printed, "not-to-be-seen") {
		t.Errorf("the key is printed: %s", printed)
	}
}

// A configuration that can't be used is an error, never a reason to start a server that nobody asked for.
func TestConnectRefusesAnUnusableConfiguration(t *testing.T) {
	unconfigured(t)
	t.Setenv("TEMPORAL_PROFILE", "missing")
	_, err := Connect(t.Context(), Options{})
	wantError(t, err, "temporal.toml", "missing", "correct it")

	unconfigured(t)
	t.Setenv("TEMPORAL_ADDRESS", "temporal.example:7233")
	t.Setenv("TEMPORAL_TLS_SERVER_CA_CERT_PATH", filepath.Join(t.TempDir(), "none.pem"))
	server, err := Connect(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = server.ClientOptions()
	wantError(t, err, "none.pem", "correct it")
}

// A child process with the server's environment variables uses that server, whatever else is configured.
func TestEnvironNamesTheServer(t *testing.T) {
	var log transcript
	server, err := connectStandIn(t.Context(), t, client.DefaultNamespace, &log)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Stop()
	t.Setenv("TEMPORAL_API_KEY", "of another server")
	for _, variable := range server.Environ() {
		name, value, _ := strings.Cut(variable, "=")
		t.Setenv(name, value)
	}
	options, err := envconfig.LoadDefaultClientOptions()
	if err != nil {
		t.Fatal(err)
	}
	if options.HostPort != server.Address || options.Namespace != server.Namespace {
		t.Errorf("options %s, %s; want %s, %s", options.HostPort, options.Namespace, server.Address, server.Namespace)
	}
	if options.Credentials != nil || options.ConnectionOptions.TLS != nil {
		t.Error("the options have a key or TLS, want neither")
	}
	if os.Getenv("TEMPORAL_ADDRESS") == "" {
		t.Error("TEMPORAL_ADDRESS isn't among the variables")
	}
}
