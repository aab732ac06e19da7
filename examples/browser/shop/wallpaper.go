package shop

import "net/http"

// wallpaper is a page of a pattern that can't be compressed, as many pixels high as
// its query says: /wallpaper?height=2000.
func wallpaper(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write([]byte(wallpaperPage))
}

const wallpaperPage = `<!doctype html><html lang="en"><meta charset="utf-8"><link rel="icon" href="data:,"><title>Wallpaper</title>
<h1>Wallpaper</h1>
<canvas width="600"></canvas>
<script>
const canvas = document.querySelector('canvas');
canvas.height = Number(new URLSearchParams(location.search).get('height'));
const pen = canvas.getContext('2d');
const picture = pen.createImageData(canvas.width, canvas.height);
let x = 1;
for (let i = 0; i < picture.data.length; i++) {
  x ^= x << 13; x ^= x >>> 17; x ^= x << 5; // xorshift
  picture.data[i] = i % 4 === 3 ? 255 : x & 255;
}
pen.putImageData(picture, 0, 0);
</script>
`
