-- A person who changes the pace of a campaign under way begins it anew.
grant insert, update on campaign_pace to dueline_tenant;
