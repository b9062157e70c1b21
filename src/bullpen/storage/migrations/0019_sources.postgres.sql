ALTER TABLE blocks ADD COLUMN outside TEXT COLLATE "C";
ALTER TABLE group_blocks ADD COLUMN outside TEXT COLLATE "C";
ALTER TABLE passages ADD COLUMN outside TEXT COLLATE "C";
ALTER TABLE policies ADD COLUMN source TEXT COLLATE "C";
ALTER TABLE skills ADD COLUMN earlier TEXT COLLATE "C";

-- What was remembered before carries sources as well, as far as journals still tell: those of the run that wrote it.
UPDATE passages SET outside = found.outside
FROM (
    SELECT entry.result AS result, max(run.outside) AS outside
    FROM run_messages AS entry JOIN runs AS run ON run.id = entry.run_id
    WHERE entry.type = 'tool_return_message' AND entry.tool_name = 'store_memory' AND run.outside IS NOT NULL
    GROUP BY entry.result
) AS found
WHERE found.result = '{"passageId":"' || passages.id || '"}';

UPDATE blocks SET outside = (
    SELECT run.outside FROM runs AS run JOIN run_messages AS entry ON entry.run_id = run.id
    WHERE run.agent_id = blocks.agent_id
        AND entry.type = 'tool_call_message' AND entry.tool_name = 'update_memory'
        AND strpos(entry.args, '"' || blocks.label || '"') > 0
    ORDER BY run.id DESC, entry.position DESC LIMIT 1
);

UPDATE group_blocks SET outside = (
    SELECT run.outside FROM runs AS run JOIN run_messages AS entry ON entry.run_id = run.id
    WHERE run.agent_id = group_blocks.agent_id AND run.space_id = group_blocks.space_id
        AND entry.type = 'tool_call_message' AND entry.tool_name = 'update_memory'
        AND strpos(entry.args, '"' || group_blocks.label || '"') > 0
    ORDER BY run.id DESC, entry.position DESC LIMIT 1
);
