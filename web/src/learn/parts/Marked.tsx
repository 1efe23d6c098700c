/** An answer with the characters marked that are not those of another text, place by place. */
export function Marked({ text, against, lang }: { text: string; against: string; lang?: string }) {
  const other = [...against];
  const parts: { text: string; same: boolean }[] = [];
  [...text].forEach((char, i) => {
    const same = char === other[i];
    const last = parts.at(-1);
    if (last && last.same === same) last.text += char;
    else parts.push({ text: char, same });
  });
  return (
    <bdi class="marked" lang={lang}>
      {parts.map((part, i) => (part.same ? part.text : <mark key={i}>{part.text}</mark>))}
    </bdi>
  );
}
