import { describe, expect, it } from "vitest";
import { checkTokenForm, formOfJson } from "../../src/apps/oauth/token-request.ts";

describe("JSON at the token endpoint", () => {
  it("becomes a form", () => {
    expect(formOfJson('{"grant_type":"client_credentials","scope":"a b"}')).toBe(
      "grant_type=client_credentials&scope=a+b",
    );
  });

  it.each([
    ["a name that appears twice", '{"scope":"a","scope":"b"}', "appears twice"],
    ["a name with a backslash", '{"a":1,"b\\\\":1}', "backslashes"],
    ["NUL", '{"scope":"a\\u0000"}', "NUL"],
    ["what is no JSON", "{", "JSON"],
  ])("with %s is refused with an OAuth error", (_name, json, words) => {
    expect(() => formOfJson(json)).toThrow(
      expect.objectContaining({
        error: "invalid_request",
        message: expect.stringContaining(words),
      }),
    );
  });

  it("quotes at most 100 characters of the input", () => {
    const name = "n".repeat(10_000);
    expect(() => formOfJson(`{"${name}":{}}`)).toThrow(/^n{100} must be a string$/);
    expect(() => checkTokenForm(`scope=${name}`)).toThrow(/: n{100}$/);
  });
});
