package browser_test

import (
	"strings"
	"testing"

	"github.com/mcpsession/mcpsession/examples/browser"
)

// Elements are found by role and name together, in the forms that snapshots have.
func TestFindElement(t *testing.T) {
	t.Parallel()
	const snapshot = "### Page\n- Page Title: status [ref=e99]\n### Snapshot\n```yaml\n" + `- generic [ref=e1]:
  - heading "Tea shop" [level=1] [ref=e2]
  - textbox "Name of the shop" [disabled]
  - textbox "Name" [active] [ref=e5]: "Ada: [ref=e9]"
  - button "Order" [ref=e6] [cursor=pointer]
  - button "Order more" [ref=e7]
  - status [ref=e8]: Thank you, Ada.
` + "```"
	for _, test := range []struct{ role, name, ref, text string }{
		{role: "heading", name: "Tea shop", ref: "e2"},
		{role: "textbox", name: "Name", ref: "e5", text: `"Ada: [ref=e9]"`},
		{role: "button", name: "Order", ref: "e6"},
		{role: "button", name: "Order more", ref: "e7"},
		{role: "status", ref: "e8", text: "Thank you, Ada."},
		{role: "textbox", name: "Name of the shop"}, // it has no reference
		{role: "button", name: "Name"},
		{role: "link", name: "Order"},
		{role: "button"}, // both have names
	} {
		ref, text, err := browser.FindElement(snapshot, test.role, test.name)
		if ref != test.ref || text != test.text {
			t.Errorf("%s %q is %q, %q, want %q, %q", test.role, test.name, ref, text, test.ref, test.text)
		}
		if found := err == nil; found != (test.ref != "") || !found && !strings.Contains(err.Error(), snapshot) {
			t.Errorf("%s %q: error %v, want one that shows the page only if it is not there", test.role, test.name, err)
		}
	}
}
