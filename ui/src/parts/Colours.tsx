// Colours for code, loaded when the first finished block of code is shown.
import { common, createLowlight } from "lowlight";
import { Fragment, type ReactNode } from "react";

const lowlight = createLowlight(common);

type Node = { type: string; value?: string; properties?: { className?: string[] }; children?: Node[] };

function drawn(nodes: Node[]): ReactNode {
  return nodes.map((node, at) =>
    node.type === "text" ? (
      <Fragment key={at}>{node.value}</Fragment>
    ) : (
      <span key={at} className={node.properties?.className?.join(" ")}>
        {drawn(node.children ?? [])}
      </span>
    ),
  );
}

export default function Colours({ text, language }: { text: string; language: string }) {
  if (!lowlight.registered(language)) return <code>{text}</code>;
  return <code>{drawn(lowlight.highlight(language, text).children as Node[])}</code>;
}
