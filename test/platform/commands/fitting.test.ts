import { expect, it } from "vitest";
import { Fitting } from "../../../src/platform/commands/fitting.ts";

it("no more than fitted, then twice as many, until nothing is noted", () => {
  const fitting = new Fitting(500);
  expect(fitting.countMax("a")).toBe(500);
  fitting.note("a", 70, 430);
  expect(fitting.countMax("a")).toBe(70);
  expect(fitting.countMax("b")).toBe(500);
  fitting.note("a", 70, 0);
  expect(fitting.countMax("a")).toBe(140);
  fitting.note("a", 140, 0);
  fitting.note("a", 280, 0);
  expect(fitting.countMax("a")).toBe(500);
});

it("a set with few commands neither lowers nor raises what is noted", () => {
  const fitting = new Fitting(500);
  fitting.note("a", 70, 430);
  fitting.note("a", 1, 0);
  expect(fitting.countMax("a")).toBe(70);
});

it("an account of which nothing was answered is not limited: another's answers filled the set", () => {
  const fitting = new Fitting(500);
  fitting.note("a", 0, 125);
  expect(fitting.countMax("a")).toBe(500);
});
