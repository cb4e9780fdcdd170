import Type from "typebox";
import { expect, expectTypeOf, test } from "vitest";
import type { PathParams } from "../../src/platform/http/route-spec.ts";
import { compileCheck } from "../../src/platform/http/validate.ts";

const closed = { additionalProperties: false };
const Item = Type.Object({ amount: Type.Number(), note: Type.Optional(Type.String()) }, closed);
const checkOrder = compileCheck(
  Type.Object(
    {
      items: Type.Array(Item, { maxItems: 3 }),
      payer: Type.Optional(Type.Union([Type.Object({ name: Type.String() }, closed), Type.Null()])),
      colour: Type.Optional(Type.Enum(["red", "green"])),
    },
    closed,
  ),
  "body",
);
const fieldsOf = (value: unknown) => checkOrder(value).problems.map(({ field }) => field);

test("a value that its schema accepts is passed on unchanged", () => {
  const order = { items: [{ amount: 1, note: "a" }], payer: null, colour: "red" };
  expect(checkOrder(structuredClone(order))).toEqual({ sound: order, problems: [] });
});

test("refused parts are reported and removed from the value", () => {
  const order = {
    items: [{ amount: "1" }, "text", { amount: 2, notes: "b" }],
    payer: { name: 7 },
    colour: "blue",
    "a/b~c": true,
  };
  const { sound, problems } = checkOrder(order);
  expect(problems.map(({ field }) => field).sort()).toEqual(
    ["a/b~c", "colour", "items[0].amount", "items[1]", "items[2].notes", "payer.name"].sort(),
  );
  expect(sound).toEqual({ items: [{}, undefined, { amount: 2 }], payer: {} });
});

test("a name that looks like the path of another field hides no problem of that field", () => {
  const order = { items: [], payer: { name: 7 }, "payer/name": 1, "payer.name": 1 };
  const { sound, problems } = checkOrder(order);
  expect(problems.map(({ code }) => code).sort()).toEqual(
    ["parameter_unknown", "parameter_unknown", "record_invalid"].sort(),
  );
  expect(sound).toEqual({ items: [], payer: {} });
});

test("more problems than an answer lists are refused at once, and counted", () => {
  const names = Array.from({ length: 150 }, (_, index) => [`unknown_${index}`, 1]);
  const order = { items: [], ...Object.fromEntries(names) };
  expect(() => checkOrder(order)).toThrow(
    expect.objectContaining({ code: "parameter_unknown", problems_omitted: 50 }),
  );
});

test("an array that is too long keeps no items", () => {
  const { sound, problems } = checkOrder({ items: Array(4).fill({ amount: 1 }) });
  expect(problems).toMatchObject([{ field: "items", code: "record_invalid" }]);
  expect(sound).toEqual({});
});

test("a body that is not an object keeps nothing", () => {
  for (const value of [undefined, null, "text", [1]]) {
    expect(fieldsOf(value)).toEqual(["body"]);
    expect(checkOrder(value).sound).toEqual({});
  }
});

test("a route's parameters have the names of its path", () => {
  expectTypeOf<PathParams<"/users/:user_id/quotes/:quote_id/execute">>().toEqualTypeOf<
    Readonly<{ user_id: string; quote_id: string }>
  >();
  expectTypeOf<keyof PathParams<"/users">>().toEqualTypeOf<never>();
});

test("a required text that is blank is missing; an optional one is the route's to judge", () => {
  const check = compileCheck(
    Type.Object({
      address: Type.String(),
      amount: Type.Union([Type.Number(), Type.String()]),
      code: Type.String({ pattern: "^[a-z]+$" }),
      detail: Type.Optional(Type.String({ pattern: "^[a-z]+$" })),
      note: Type.Optional(Type.String()),
    }),
    "body",
  );
  for (const blank of ["", " ", "\t\u2003"]) {
    const { sound, problems } = check({
      ...{ address: blank, amount: blank, code: blank, detail: blank, note: blank },
    });
    expect(problems.map(({ field, code }) => [field, code])).toEqual([
      ["address", "parameter_missing"],
      ["amount", "parameter_missing"],
      ["code", "parameter_missing"],
      ["detail", "record_invalid"],
    ]);
    expect(sound).toEqual({ note: blank });
  }
  const sent = { address: " a ", amount: "1", code: "b", note: "" };
  expect(check(sent)).toEqual({ sound: sent, problems: [] });
  expect(check({ ...sent, code: "B" }).problems).toMatchObject([{ code: "record_invalid" }]);
});
