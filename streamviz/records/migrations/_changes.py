"""Workers are told of each change of what an operator sets up, and of who may decide by hand."""

NOTIFY = """
CREATE FUNCTION streamviz_notify() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('streamviz_changed', TG_TABLE_NAME);
    RETURN NULL;
END
$$;
CREATE TRIGGER streamviz_changed AFTER INSERT OR UPDATE OR DELETE ON records_apikey
    FOR EACH STATEMENT EXECUTE FUNCTION streamviz_notify();
CREATE TRIGGER streamviz_changed AFTER INSERT OR UPDATE OR DELETE ON records_route
    FOR EACH STATEMENT EXECUTE FUNCTION streamviz_notify();
CREATE TRIGGER streamviz_changed AFTER INSERT OR UPDATE OR DELETE ON records_policy
    FOR EACH STATEMENT EXECUTE FUNCTION streamviz_notify();
"""
OF_MCP_SERVERS = """
CREATE TRIGGER streamviz_changed AFTER INSERT OR UPDATE OR DELETE ON records_mcpserver
    FOR EACH STATEMENT EXECUTE FUNCTION streamviz_notify();
"""
OF_DECIDERS = """
CREATE TRIGGER streamviz_changed AFTER DELETE OR UPDATE OF username, is_active, is_superuser ON auth_user
    FOR EACH STATEMENT EXECUTE FUNCTION streamviz_notify();
CREATE TRIGGER streamviz_changed AFTER INSERT OR DELETE ON auth_user_groups
    FOR EACH STATEMENT EXECUTE FUNCTION streamviz_notify();
CREATE TRIGGER streamviz_changed AFTER INSERT OR DELETE ON auth_user_user_permissions
    FOR EACH STATEMENT EXECUTE FUNCTION streamviz_notify();
CREATE TRIGGER streamviz_changed AFTER INSERT OR DELETE ON auth_group_permissions
    FOR EACH STATEMENT EXECUTE FUNCTION streamviz_notify();
"""
