-- One plan for each statement of the feed, whatever a session wrote before. A session that writes single rows after statements of hundreds finds
-- the kept plan dearer than one for a single row, and so plans each time: half as long again as the whole change takes. The joins are such that
-- a plan which was made for one row serves 200,000. Whoever defines these functions anew says it again.
alter function record_updated_attributes() set plan_cache_mode = force_generic_plan;
alter function record_inserted_attributes() set plan_cache_mode = force_generic_plan;
