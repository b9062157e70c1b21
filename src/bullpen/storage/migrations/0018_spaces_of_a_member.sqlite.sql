DROP INDEX members_member;
CREATE INDEX members_member ON members (member_id, space_id);
