import { describe, expect, it } from "vitest";
import { renderMarkdown } from "../../src/docs/markdown.ts";

const render = (text: string) => renderMarkdown(text, (address) => `/page/${address}`).body.text;

describe("Markdown", () => {
  it("headings have unique anchors", () => {
    const shown = render("# The title\n\n## Send `one`, now\n\n## Send one now\n");
    expect(shown).toContain("<h1>The title</h1>");
    expect(shown).toContain('<h2 id="send-one-now"><a class="anchor" href="#send-one-now">');
    expect(shown).toContain('<h2 id="send-one-now-1">');
  });

  it("paragraphs support code, emphasis, links and images, also over two lines", () => {
    const shown = render(
      "A `a*b*` and **bold\ntext** and *so* [to `x`](other.md#part) ![A](p.png)",
    );
    expect(shown).toBe(
      "<p>A <code>a*b*</code> and <strong>bold\ntext</strong> and <em>so</em> " +
        '<a href="/page/other.md#part">to <code>x</code></a> ' +
        '<img src="/page/p.png" alt="A"></p>\n',
    );
  });

  it("code may contain backquotes", () => {
    expect(render("so: `` html`a` ``.")).toBe("<p>so: <code>html`a`</code>.</p>\n");
  });

  it("a multiplication is not emphasis", () => {
    expect(render("2 * 3 * 4 = 24")).toBe("<p>2 * 3 * 4 = 24</p>\n");
  });

  it("lists may contain lists, paragraphs and code", () => {
    const shown = render(
      "1. One\n   goes on\n\n   ```sh\n   run it\n     so\n   ```\n2. Two\n   - a\n   - b\n",
    );
    expect(shown).toBe(
      '<ol><li><p>One\ngoes on</p>\n<pre tabindex="0" data-language="sh"><code>run it\n  so</code></pre>\n</li>\n' +
        "<li><p>Two</p>\n<ul><li>a</li>\n<li>b</li>\n</ul>\n</li>\n</ol>\n",
    );
  });

  it("a table keeps the `|` inside its cells, and every row about a name has an anchor", () => {
    const shown = render(
      "| code | meaning |\n| --- | --- |\n| `one_two` | `a\\|b` |\n| both | |\n",
    );
    expect(shown).toContain('<tr role="row" id="one_two">');
    expect(shown).toContain('data-label="meaning"><span><code>a|b</code></span>');
    expect(shown).toContain('data-label="code"><span>both</span>');
  });

  it("comments are left out, and so are links that lead neither to our pages nor to the web", () => {
    expect(render("<!-- secret -->\n\ntext")).toBe("<p>text</p>\n");
    for (const address of ["javascript:alert", "data:text/html,x", "//evil.example", "\\\\x"]) {
      expect(render(`[text](${address})`)).toBe("<p>text</p>\n");
    }
    expect(render("[text](https://example.com/a)")).toContain('href="https://example.com/a"');
  });

  it("everything else is text, whatever it looks like", () => {
    const shown = render('<script>alert(1)</script> [a](x"onclick=1) `<b>`\n\n```sh\n<i>&\n```\n');
    expect(shown).not.toMatch(/<(script|b|i)>/);
    expect(shown).not.toContain('"onclick');
    expect(shown).toContain("&lt;i&gt;&amp;");
  });

  it("an unfinished block ends with the text", () => {
    expect(render("```sh\nrun")).toContain("<code>run</code>");
    expect(render("<!-- never closed")).toBe("");
    expect(render("- ")).toBe("<ul><li></li>\n</ul>\n");
  });

  it("sections contain the words under a heading, and a named row is a section of its own", () => {
    const { title, summary, sections } = renderMarkdown(
      "# All `of` it\n\nOne thing. Another.\n\n## Part\n\n| code | what |\n|---|---|\n| `gone` | Leave. |\n",
      () => null,
    );
    expect({ title, summary }).toEqual({ title: "All of it", summary: "One thing. Another." });
    expect(sections).toEqual([
      { anchor: "", heading: "All of it", text: "One thing. Another." },
      { anchor: "gone", heading: "gone", text: "Part Leave." },
      { anchor: "part", heading: "Part", text: "gone Leave." },
    ]);
    expect(renderMarkdown("# **a [b](c)** `d`", () => null).title).toBe("a b d");
  });
});
