import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { XmlDocument, XsdValidator } from "libxml2-wasm";

/** A list of all that a schema finds wrong with a document. */
type Validate = (xml: string) => string[];

/**
 * The schemas are published by ISO 20022 and are not part of this project: they are looked for in
 * `shared/data/iso20022` beside the project or above it. Without them nothing is validated, and the
 * output says so.
 */
export function loadSchema(message: string): Validate | null {
  const path = schemaPath(`${message}.xsd`, import.meta.dirname);
  if (!path) {
    console.warn(`\n\n*** NOT VALIDATED: the schema ${message}.xsd was not found. ***\n\n`);
    return null;
  }
  const validator = XsdValidator.fromDoc(XmlDocument.fromBuffer(readFileSync(path)));
  return (xml) => {
    const document = XmlDocument.fromString(xml);
    try {
      validator.validate(document);
      return [];
    } catch (error) {
      return [String(error)];
    } finally {
      document.dispose();
    }
  };
}

function schemaPath(name: string, folder: string): string | null {
  const path = join(folder, "shared/data/iso20022", name);
  if (existsSync(path)) return path;
  return dirname(folder) === folder ? null : schemaPath(name, dirname(folder));
}
