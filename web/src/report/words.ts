/** Sections without figures: sentences on which the models differ, and the settings of the experiment. */
import * as of from "../lib/report";
import type { Report } from "../lib/report";
import type { SectionData } from "./sections";

const LONGEST = 600;
const cut = (text: string) => (text.length <= LONGEST ? text : `${text.slice(0, LONGEST - 1)}…`).trim();

export function examples(report: Report): SectionData {
  const [from, to] = ["source", "target"]
    .map((side) => String(report.data[`${side}_language`] ?? ""))
    .map((code) => (/^[a-z]{2,3}(-|$)/i.test(code) ? code : undefined));
  return {
    id: "examples",
    title: "Where the models differ",
    lead: "Test sentences that not all models answer alike. What differs from the reference is marked.",
    cards: of.telling(report).map(({ source, reference, answers }) => [
      { name: "source", text: cut(source), lang: from },
      { name: "reference", text: cut(reference), lang: to },
      ...answers.map(({ entry, text }) => {
        return { name: entry.name, text: cut(text), colour: of.colour(report, entry), lang: to, reference: cut(reference) };
      }),
    ]),
  };
}

export function settings(report: Report): SectionData {
  const { data, machine } = report;
  const pairs = `${of.count(data.train)} training, ${of.count(data.valid)} validation and ${of.count(data.test)} test pairs`;
  const facts = {
    command: report.command,
    data: `${data.name}, ${pairs}, test set: ${data.test_name}, ${of.count(data.vocabulary)} tokens of vocabulary`,
    "SHA-256 of the data": String(data.sha256 ?? ""),
    metric: report.metric.signature,
    "budget of each model": of.budgetText(report.budget),
    machine: `${machine.name}, ${machine.cores} cores, ${machine.device}`,
    made: `${report.made} with jumok ${report.version}`,
  };
  const { different, same } = of.settingTables(report);
  return {
    id: "settings",
    title: "Settings",
    lead: "All that is needed to run this again.",
    cards: [Object.entries(facts).flatMap(([name, text]) => (text ? [{ name, text }] : []))],
    tables: [
      { title: "Where the entries differ", data: different, folded: true },
      { title: "Settings that all entries share", data: same, folded: true },
    ],
  };
}
