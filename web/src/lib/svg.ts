/** SVG as text, for export: escaping and small builders. */

/** Text made safe for element content and for attributes in double quotes; characters XML forbids are dropped. */
export function escapeXml(text: string): string {
  return text
    .replace(
      // biome-ignore lint/suspicious/noControlCharactersInRegex: XML cannot hold them, so they are what is looked for
      /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g,
      "",
    )
    .replace(/&/g, "&amp;")
    .replace(/</g, "&lt;")
    .replace(/>/g, "&gt;")
    .replace(/"/g, "&quot;");
}

export type Attributes = Readonly<Record<string, string | number | undefined>>;

/** One element; attributes that are undefined are left out. `children` is SVG text already. */
export function element(name: string, attributes: Attributes, children = ""): string {
  const list = Object.entries(attributes)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => ` ${key}="${escapeXml(String(value))}"`)
    .join("");
  return children ? `<${name}${list}>${children}</${name}>` : `<${name}${list}/>`;
}

export const textElement = (text: string, attributes: Attributes) => element("text", attributes, escapeXml(text));

/** A whole document of the given size with a background and a title. */
export function svgDocument(width: number, height: number, background: string, title: string, body: string): string {
  const frame = element("rect", { width, height, fill: background });
  return element(
    "svg",
    { xmlns: "http://www.w3.org/2000/svg", width, height, viewBox: `0 0 ${width} ${height}`, "font-family": "system-ui, sans-serif" },
    element("title", {}, escapeXml(title)) + frame + body,
  );
}
