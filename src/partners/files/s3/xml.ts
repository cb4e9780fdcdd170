import { SaxesParser } from "saxes";

/**
 * The texts of all elements with one of these names, wherever they stand, in the order of the
 * document. S3's answers are flat enough for that.
 */
export function readElements<Name extends string>(
  xml: string,
  names: readonly Name[],
): Record<Name, string[]> {
  const found = Object.fromEntries(names.map((name) => [name, []])) as unknown as Record<
    Name,
    string[]
  >;
  const parser = new SaxesParser();
  let text = "";
  parser.on("error", (error) => {
    throw error;
  });
  parser.on("opentag", () => {
    text = "";
  });
  parser.on("text", (part) => {
    text += part;
  });
  parser.on("closetag", ({ name }) => {
    if (names.includes(name as Name)) found[name as Name].push(text);
    text = "";
  });
  parser.write(xml).close();
  return found;
}
