/** Reads an operator's JSON file. What it refuses is one sentence with the place of the error. */
export function operatorFile(name: string) {
  const wrong = (path: string, what: string) => new Error(`${name} is invalid: ${path} ${what}.`);

  /** Without `known`, any key is allowed. */
  const asObject = (value: unknown, path: string, known?: readonly string[]) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      throw wrong(path, "must be an object");
    }
    const unknown = known && Object.keys(value).find((key) => !known.includes(key));
    if (known && unknown !== undefined) {
      throw wrong(path, `has the unknown key ${unknown}; known keys are ${known.join(", ")}`);
    }
    return value as Record<string, unknown>;
  };

  const parse = (json_text: string, known: readonly string[]) => {
    try {
      return asObject(JSON.parse(json_text), "the file", known);
    } catch (error) {
      throw error instanceof SyntaxError ? wrong("the file", "must be well-formed JSON") : error;
    }
  };
  return { parse, asObject, wrong };
}
