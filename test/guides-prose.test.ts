import { readdir, readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { whyRefused } from "./harness/command-tree.ts";
import { GUIDES, listBlocks } from "./harness/guide.ts";

const README = new URL("../README.md", import.meta.url);
const names = (await readdir(GUIDES)).filter((name) => name.endsWith(".md"));
const texts = await Promise.all(
  [README, ...names.map((name) => new URL(name, GUIDES))].map(async (file) => ({
    name: file.pathname.split("/").at(-1)!,
    text: await readFile(file, "utf8"),
  })),
);

/** Commands that stand in a sentence, which nobody runs. */
function inlineCommands(text: string): string[] {
  const prose = text.replaceAll(/^ *```.*?^ *```/gms, "");
  const inline = [...prose.matchAll(/`([^`]+)`/g)].map(([, code]) => code!.replaceAll("\n", " "));
  return inline.filter((code) => /^(\w+=\S+ )*(bin\/)?sliproad /.test(code));
}

describe("a command in a sentence", () => {
  it.each(texts)("of $name is one that the program takes", ({ text }) => {
    const refused = inlineCommands(text).flatMap((line) => {
      const why = whyRefused(line);
      return why ? [`${line}: ${why.message}`] : [];
    });
    expect(refused).toEqual([]);
  });

  it("is found, and a wrong one is refused", () => {
    expect(texts.flatMap(({ text }) => inlineCommands(text)).length).toBeGreaterThan(10);
    for (const line of [
      "bin/sliproad verfy",
      "bin/sliproad keys lsit",
      "sliproad verify --anchr x",
    ]) {
      expect(inlineCommands(`Run \`${line}\`.`)).toEqual([line]);
      expect(whyRefused(line), line).not.toBeNull();
    }
  });
});

it.each(texts)("settings that $name exports are taken back", ({ text }) => {
  const code = listBlocks(text)
    .filter(({ language }) => language === "sh")
    .map((block) => block.code)
    .join("\n");
  const exported = [...code.matchAll(/^export (.*)$/gm)].flatMap(([, list]) =>
    [...list!.matchAll(/(?:^| )(SLIPROAD_\w+|PORT|HOST|DATABASE_URL)=/g)].map(([, name]) => name!),
  );
  const unset = [...code.matchAll(/^unset (.*)$/gm)].flatMap(([, list]) => list!.split(" "));
  expect(exported.filter((name) => !unset.includes(name))).toEqual([]);
});
