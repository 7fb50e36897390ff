-- Each action is written three times (made, claimed, ended), and each time anew into its primary key, because what changes is in the
-- conditions of other indexes. Ids only grow, so a page of the key was filled to nine tenths and split as soon as its actions were claimed. Half full it has
-- room for the versions that come. For pages from here on; 12 bytes more for each action that waits.
alter index scheduled_action_pkey set (fillfactor = 50);
