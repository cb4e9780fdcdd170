/**
 * What remains of a value after removing everything that its schema refuses. Every part of it was
 * checked, and any part may be missing. A missing required part is among the problems.
 */
export type Sound<Value> = Value extends readonly (infer Item)[]
  ? readonly (Sound<Item> | undefined)[]
  : Value extends object
    ? { readonly [Name in keyof Value]?: Sound<Value[Name]> }
    : Value;

/**
 * Removes the values at these places, each the names that lead to it. A removed array item leaves
 * its place empty.
 */
export function removeAt(value: unknown, places: readonly (readonly string[])[]): unknown {
  for (const place of places) {
    const last = place.at(-1);
    if (last === undefined) return {};
    const parent = place.slice(0, -1).reduce<unknown>(memberOf, value);
    if (Array.isArray(parent)) parent[Number(last)] = undefined;
    else if (isObject(parent)) delete parent[last];
  }
  return value;
}

/** `/offramps/1/a~1b` → `offramps`, `1`, `a/b`. */
export function partsOf(pointer: string): string[] {
  return pointer
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
}

/** `a/b` → `a~1b`: one part of a pointer. */
export function escaped(name: string): string {
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}

function memberOf(value: unknown, name: string): unknown {
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
