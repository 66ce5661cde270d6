// Reads a formula a line, {latex, options}; answers with a line, {html} or KaTeX's {reason}.
const katex = require(process.argv[2]);
require("readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { latex, options } = JSON.parse(line);
  let answer;
  try {
    answer = { html: katex.renderToString(latex, options) };
  } catch (error) {
    answer = { reason: error.message };
  }
  process.stdout.write(JSON.stringify(answer) + "\n");
});
