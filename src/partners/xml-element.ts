/** An element of a document that is read in parts; small, since one part is kept at a time. */
export class XmlElement {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly children: XmlElement[] = [];
  text = "";

  constructor(name: string, attributes: Readonly<Record<string, string>>) {
    this.name = name;
    this.attributes = attributes;
  }

  all(name: string): XmlElement[] {
    return this.children.filter((child) => child.name === name);
  }

  /** Text of the children of this name that have some. */
  texts(name: string): string[] {
    return this.all(name).flatMap((child) => child.text.trim() || []);
  }

  textOf(name: string): string | undefined {
    return this.texts(name)[0];
  }

  /** The first element at the end of a path of names. */
  find(...names: readonly string[]): XmlElement | undefined {
    let found: XmlElement | undefined = this;
    for (const name of names) found = found?.children.find((child) => child.name === name);
    return found;
  }

  /** The text at the end of a path of names; null if it is absent or blank. */
  read(...names: readonly string[]): string | null {
    return this.find(...names)?.text.trim() || null;
  }
}
