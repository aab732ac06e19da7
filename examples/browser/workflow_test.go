package browser_test

import (
	"strings"
	"testing"

	"github.com/mcpsession/mcpsession/examples/browser"
)

// All calls of a block reach the page that those before it have left.
func TestPlaceOrder(t *testing.T) {
	overBoth(t, func(t *testing.T, b *bundle) {
		b.startHost()
		var receipt browser.Receipt
		if err := b.start(browser.PlaceOrder, b.order()).Get(b.ctx, &receipt); err != nil {
			t.Fatal(err)
		}
		if want := (browser.Receipt{Said: orderSaid}); receipt != want {
			t.Errorf("receipt %+v, want %+v", receipt, want)
		}
		if n := b.shop.Orders(); n != 1 {
			t.Errorf("the shop has %d orders", n)
		}
	})
}

// A large result arrives whole. One that is over the limit is told as such, and the
// session lives on with its page.
func TestPhotograph(t *testing.T) {
	overBoth(t, func(t *testing.T, b *bundle) {
		b.startHost()
		const limit = 2 << 20 // for a payload, in which the picture is base64
		take := func(height string) (photo browser.Photo) {
			if err := b.start(browser.Photograph, b.url+"/wallpaper?height="+height).Get(b.ctx, &photo); err != nil {
				t.Fatal(err)
			}
			return photo
		}
		photo := take("250")
		if photo.TooLarge != nil || photo.MIMEType != "image/png" || photo.Size*4/3 < limit/4 || photo.Size*4/3 > limit {
			t.Errorf("photo %+v, want a PNG of 0.5 to 2 MiB in base64", photo)
		}
		photo = take("1000")
		if photo.TooLarge == nil {
			t.Fatalf("photo %+v, want the first to be too large", photo)
		}
		if d := *photo.TooLarge; d.Server != browser.Server || d.Tool != "browser_take_screenshot" || d.Size <= limit || d.Limit != limit {
			t.Errorf("what was too large is %+v", d)
		}
		if photo.MIMEType != "image/jpeg" || photo.Size < 10<<10 {
			t.Errorf("photo %+v, want a JPEG of the wallpaper", photo)
		}
	})
}

// Two blocks at once, also of one workflow, have nothing in common: not the page,
// and not what sites have stored in the browser.
func TestBlocksAreIsolated(t *testing.T) {
	overBoth(t, func(t *testing.T, b *bundle) {
		b.startHost()
		var seen browser.Sight
		if err := b.start(browser.SideBySide, b.url).Get(b.ctx, &seen); err != nil {
			t.Fatal(err)
		}
		for _, want := range []struct{ where, got, says string }{
			{"the first block's cart", seen.Ada, "2 cups of tea for Ada"},
			{"the second block's page meanwhile", seen.Blank, "about:blank"},
			{"the second block's cart, empty", seen.Empty, "Your cart is empty."},
			{"the second block's cart, filled", seen.Grace, "7 cups of tea for Grace"},
			{"the first block's page after all that", seen.AdaAgain, "2 cups of tea for Ada"},
		} {
			if !strings.Contains(want.got, want.says) {
				t.Errorf("%s does not say %q:\n%s", want.where, want.says, want.got)
			}
		}
		if strings.Contains(seen.AdaAgain, "Grace") || strings.Contains(seen.Blank+seen.Empty+seen.Grace, "Ada") {
			t.Errorf("one block sees the other's: %+v", seen)
		}
	})
}
