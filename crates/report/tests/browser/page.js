// What a page is asked once it is loaded. The answer is an object of plain values.
(() => {
  const told = { errors: window.__errors };
  for (const folded of document.querySelectorAll("details")) folded.open = true;
  const width = document.documentElement.clientWidth;
  told.over = document.documentElement.scrollWidth - width;
  told.bare = [...document.querySelectorAll("button, a[href]")].filter(
    (e) => !(e.getAttribute("aria-label") || e.textContent).trim() || e.tabIndex < 0,
  ).length;
  const visible = (e) => e.checkVisibility?.({ visibilityProperty: true }) ?? true;
  // Text that reaches beyond the box it should scroll or wrap in.
  told.cut = [...document.querySelectorAll("main *, footer *")]
    .filter((e) => e instanceof HTMLElement && visible(e))
    .filter((e) => e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 0)
    .filter((e) => getComputedStyle(e).display !== "inline" && !e.closest(".scroll, pre"))
    .map((e) => `${e.tagName}.${e.className}: ${e.textContent.trim().slice(0, 40)}`);
  // WCAG 2.2, 1.4.3: relative luminance and contrast ratio as defined there.
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = ([r, g, b, a], [x, y, z]) => [r * a + x * (1 - a), g * a + y * (1 - a), b * a + z * (1 - a), 1];
  const luminance = ([r, g, b]) => {
    const linear = (c) => ((c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  };
  const contrast = (a, b) => {
    const [x, y] = [luminance(a), luminance(b)].sort((m, n) => n - m);
    return (x + 0.05) / (y + 0.05);
  };
  const behind = (element) => {
    const layers = [];
    for (let e = element; e; e = e.parentElement) layers.push(rgba(getComputedStyle(e).backgroundColor));
    return layers.reverse().reduce((below, layer) => over(layer, below), [255, 255, 255, 1]);
  };
  told.pale = [];
  told.texts = 0;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const e = node.parentElement;
    if (!node.data.trim() || !visible(e) || e.closest("script, style, .skip, [aria-hidden=true]")) continue;
    const style = getComputedStyle(e);
    const ground = behind(e.closest("svg")?.parentElement ?? e);
    const ink = over(rgba(e.closest("svg") ? style.fill : style.color), ground);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && parseInt(style.fontWeight) >= 700);
    const ratio = contrast(ink, ground);
    told.texts++;
    if (ratio < (large ? 3 : 4.5)) told.pale.push(`${node.data.trim().slice(0, 30)}: ${ratio.toFixed(2)}`);
  }
  told.pale = [...new Set(told.pale)].slice(0, 10);
  told.sorted = [...document.querySelectorAll("table.sortable")].every((table) => {
    const button = table.tHead.querySelector("button");
    button.focus();
    if (document.activeElement !== button) return false;
    button.click();
    return button.closest("th").getAttribute("aria-sort") === "ascending";
  });
  told.csv = document.querySelectorAll("caption .download").length === document.querySelectorAll("table.sortable").length;
  const save = document.getElementById("save");
  told.save = save === null || !save.hidden;
  return told;
})()
