package browser

import (
	"errors"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/toolset"
)

// A Photo tells of a picture. The picture itself is in the workflow's history, as
// all results are.
type Photo struct {
	MIMEType string
	Size     int                  // in bytes
	TooLarge *failure.SizeDetails // of the picture of the whole page, if it was
}

// Photograph takes a picture of a whole page, or of its upper end if that is too
// much. What is too large for Temporal is lost, but the session is not: the page is
// still there, and can be asked for less.
func Photograph(ctx workflow.Context, url string) (Photo, error) {
	var photo Photo
	err := toolset.With(ctx, options, func(ctx workflow.Context, browser *toolset.Toolset) error {
		err := navigate(ctx, browser, url)
		if err != nil {
			return err
		}
		picture, err := screenshot(ctx, browser, map[string]any{"scale": "css", "fullPage": true})
		if tooLarge, ok := failure.ResultTooLarge(err); ok {
			photo.TooLarge = &tooLarge
			picture, err = screenshot(ctx, browser, map[string]any{"scale": "css", "type": "jpeg"})
		}
		if err != nil {
			return err
		}
		photo.MIMEType, photo.Size = picture.MIMEType, len(picture.Data)
		return nil
	})
	return photo, err
}

func screenshot(ctx workflow.Context, browser *toolset.Toolset, args map[string]any) (*mcp.ImageContent, error) {
	result, err := call(ctx, browser, "browser_take_screenshot", args)
	if err != nil {
		return nil, err
	}
	for _, content := range result.Content {
		if picture, ok := content.(*mcp.ImageContent); ok {
			return picture, nil
		}
	}
	return nil, errors.New("the screenshot has no picture")
}
