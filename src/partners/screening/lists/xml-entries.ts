import { SaxesParser, type SaxesTagPlain } from "saxes";
import { XmlElement } from "../../xml-element.ts";

const DEPTH_MAX = 20;

/**
 * Reads a document piece by piece and hands over each entry when it ends. A document that is not
 * well-formed, or ends too early, throws. Entities other than XML's own are refused.
 */
export function createXmlReader(
  onRoot: (name: string) => ReadonlySet<string>,
  onEntry: (entry: XmlElement) => void,
): { write: (text: string) => void; end: () => void } {
  const parser = new SaxesParser();
  const open: XmlElement[] = [];
  let entry_names: ReadonlySet<string> | undefined;
  let depth = 0;
  parser.on("error", (error) => {
    throw error;
  });
  parser.on("opentag", (tag: SaxesTagPlain) => {
    const name = localName(tag.name);
    depth += 1;
    if (depth > DEPTH_MAX) throw new Error("Its elements are nested too deeply.");
    entry_names ??= onRoot(name);
    if (open.length === 0 && !entry_names.has(name)) return;
    const element = new XmlElement(name, tag.attributes);
    open.at(-1)?.children.push(element);
    open.push(element);
  });
  const addText = (text: string) => {
    const element = open.at(-1);
    if (element) element.text += text;
  };
  parser.on("text", addText);
  parser.on("cdata", addText);
  parser.on("closetag", () => {
    depth -= 1;
    const element = open.pop();
    if (element && open.length === 0) onEntry(element);
  });
  return { write: (text) => void parser.write(text), end: () => void parser.close() };
}

function localName(name: string): string {
  return name.slice(name.indexOf(":") + 1);
}
