/** Reads a JSON file of the operator's; throws one sentence about the first error. */
type OperatorFile = {
  parse(json_text: string): Record<string, unknown>;
  asObject(value: unknown, path: string): Record<string, unknown>;
  allowKeys(given: object, path: string, known: readonly string[]): void;
  wrong(path: string, what: string): Error;
};

/** `title` begins the sentence, such as "The fee schedule". */
export function operatorFile(title: string): OperatorFile {
  const wrong = (path: string, what: string) => new Error(`${title} is invalid: ${path} ${what}.`);
  const asObject = (value: unknown, path: string) => {
    if (typeof value === "object" && value !== null && !Array.isArray(value)) {
      return value as Record<string, unknown>;
    }
    throw wrong(path, "must be an object");
  };
  return {
    wrong,
    asObject,
    parse: (json_text) => {
      let value: unknown;
      try {
        value = JSON.parse(json_text);
      } catch {
        throw wrong("the file", "must be well-formed JSON");
      }
      return asObject(value, "the file");
    },
    allowKeys: (given, path, known) => {
      const unknown = Object.keys(given).find((key) => !known.includes(key));
      if (unknown === undefined) return;
      throw wrong(path, `has the unknown key ${unknown}; known keys are ${known.join(", ")}`);
    },
  };
}
