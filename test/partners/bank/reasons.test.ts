import { describe, expect, it } from "vitest";
import { ACH_REASONS } from "../../../src/partners/bank/reasons/ach-reasons.ts";
import { explainReasons } from "../../../src/partners/bank/reasons/explain-reason.ts";
import { ISO_REASONS } from "../../../src/partners/bank/reasons/iso-reasons.ts";

function explain(...codes: readonly (string | null)[]) {
  return explainReasons(codes.map((code) => ({ code, text: "Herr Muster" })));
}

describe("the reasons of banks", () => {
  it.each([
    ["AC04", "the account is closed", "another payment detail", true],
    ["R03", "there is no such account, or it is somebody else's", "another payment detail", true],
    ["BE01", "the name does not belong to the account", "a corrected payment detail", true],
    ["AM04", "the funds for it were not available", "the same payment detail", true],
    ["AM10", "a total of the payment file was wrong", "operator to correct", false],
    ["AM05", "the bank regards it as a duplicate", "Ask the operator before", false],
    [
      "R16",
      "the account is frozen, or an authority forbids the payment",
      "Ask the operator",
      false,
    ],
    [" ac01 ", "the account number is wrong", "another payment detail", true],
    ["R97", "of the reason R97", "Ask the operator", false],
    ["BE08", "of the reason BE08", "Ask the operator", false],
    ["0999;<x>", "of the reason of its own", "Ask the operator", false],
  ])("%s is explained to a person", (code, because, next, is_reroute_sensible) => {
    const explained = explain(code);
    expect(explained).toMatchObject({ because, is_reroute_sensible });
    expect(explained.next_step).toContain(next);
  });

  it("no reason says nothing more, and another account can be tried", () => {
    for (const none of [explainReasons([]), explain(null)]) {
      expect(none).toMatchObject({ because: null, is_reroute_sensible: true });
    }
  });

  it("the first known reason is told, and one that needs a person decides", () => {
    expect(explain("X1", "AC04", "FR01")).toMatchObject({
      because: "the account is closed",
      is_reroute_sensible: false,
    });
  });

  it("every code is one of its list, and every clause completes a sentence", () => {
    for (const code of ISO_REASONS.keys()) expect(code).toMatch(/^[A-Z]{2,4}\d{0,2}$/);
    for (const code of ACH_REASONS.keys()) expect(code).toMatch(/^R\d\d$/);
    for (const { because } of [...ISO_REASONS.values(), ...ACH_REASONS.values()]) {
      expect(because).toMatch(/^[a-z].*[a-zA-Z]$/);
    }
  });

  it("the codes that payouts meet are known", () => {
    const iso =
      "AC01 AC03 AC04 AC06 AC07 AG01 AG02 AM02 AM03 AM04 AM05 AM07 AM09 AM10 AM14 BE01 BE04 BE05 " +
      "BE06 BE07 CNOR CURR CUST DT01 DUPL ED05 FF01 FOCR FRAD MD07 MS02 MS03 NARR RC01 RC04 RR01 " +
      "RR02 RR03 RR04 TM01";
    expect(iso.split(" ").filter((code) => !ISO_REASONS.has(code))).toEqual([]);
    const ach = Array.from({ length: 39 }, (_, at) => `R${String(at + 1).padStart(2, "0")}`);
    expect([...ach, "R61", "R80", "R85"].filter((code) => !ACH_REASONS.has(code))).toEqual([]);
  });
});
